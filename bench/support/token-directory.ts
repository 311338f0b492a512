/** Creates data directories with many ACL tokens. */
import { aclTokens } from '../../src/credentials/acl-token.ts';
import { hashSecret } from '../../src/credentials/ids-and-secrets.ts';
import { createDataDirectory, type DataDirectory, writeInBatches } from './data-directory.ts';

export interface TokenDirectory extends DataDirectory {
  /** The accessor ID of one of the tokens. */
  readonly accessorId: string;
}

const accessorId = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

export async function createTokenDirectory(count: number): Promise<TokenDirectory> {
  const data = await createDataDirectory((state) =>
    writeInBatches(state, count, (tx, i) => {
      tx.put(aclTokens, {
        accessorId: accessorId(i),
        secretHash: hashSecret(`secret ${i}`),
        description: `token ${i}`,
        partition: 'default',
        grants: [{ Resource: 'peering', Access: 'read', Partition: 'default' }],
        createTime: new Date(tx.now).toISOString(),
      });
    }),
  );
  return { ...data, accessorId: accessorId(0) };
}
