/** Data directories with many ACL tokens, written below the server. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { aclTokens } from '../../src/credentials/acl-token.ts';
import { makeFirstCredentials } from '../../src/credentials/first-credentials.ts';
import { hashSecret } from '../../src/credentials/secret.ts';
import { SCHEMA } from '../../src/main/schema.ts';
import { systemClock } from '../../src/state/clock.ts';
import { sqliteEngine } from '../../src/state/sqlite/engine.ts';
import { State } from '../../src/state/state.ts';

export interface TokenDirectory {
  readonly directory: string;
  /** One of the tokens. */
  readonly accessorId: string;
  remove(): Promise<void>;
}

const PER_WRITE = 500;

const accessorId = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

export async function fillTokens(count: number): Promise<TokenDirectory> {
  const directory = await mkdtemp(path.join(tmpdir(), 'accord-bench-'));
  await using state = await State.open({
    engine: sqliteEngine({ directory }),
    schema: SCHEMA,
    node: 'bench',
    clock: systemClock,
    rowsMax: 5_000_000,
    log: () => undefined,
  });
  await makeFirstCredentials({
    state,
    clock: systemClock,
    directory,
    address: 'http://127.0.0.1:8500',
    datacenter: 'dc1',
    presetSecrets: () => ({ aclToken: undefined, adminToken: undefined }),
  });
  for (let first = 0; first < count; first += PER_WRITE) {
    await state.write((tx) => {
      for (let i = first; i < Math.min(first + PER_WRITE, count); i++) {
        tx.put(aclTokens, {
          accessorId: accessorId(i),
          secretHash: hashSecret(`secret ${i}`),
          description: `token ${i}`,
          partition: 'default',
          grants: [{ Resource: 'peering', Access: 'read', Partition: 'default' }],
          createTime: new Date(tx.now).toISOString(),
        });
      }
    });
  }
  return { directory, accessorId: accessorId(0), remove: () => rm(directory, { recursive: true, force: true }) };
}
