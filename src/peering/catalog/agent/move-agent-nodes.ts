/** A server that has moved: what is on its nodes is found where it is now, and not only after something registers. */
import type { Reader } from '../../../state/memory/reader.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import { type CatalogNode, catalogNodes } from '../tables/catalog-node.ts';
import type { AgentNode } from './agent.ts';
import { writeBatch } from './write-in-batches.ts';

/** Brings the nodes of a server's agent, one in each partition where it has one, to its address. @throws StateError */
export async function moveAgentNodes(
  state: Pick<State, 'snapshot' | 'write'>,
  { name, address }: AgentNode,
): Promise<void> {
  const elsewhere = (reader: Reader): DeepReadonly<CatalogNode>[] =>
    reader
      .list(catalogNodes, 'agent', name)
      .map(({ row }) => row)
      .filter((row) => row.address !== address);
  while (elsewhere(state.snapshot).length > 0) {
    await writeBatch(state, (tx, countMax) => {
      for (const row of elsewhere(tx).slice(0, countMax)) tx.put(catalogNodes, { ...row, address });
    });
  }
}
