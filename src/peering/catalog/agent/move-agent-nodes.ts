/** Updates the agent nodes of a server that starts at another address ([SVC-46]). */
import type { Reader } from '../../../state/memory/reader.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import { type CatalogNode, catalogNodes } from '../tables/catalog-node.ts';
import type { AgentNode } from './agent.ts';
import { writeBatch } from './write-in-batches.ts';

/** Sets the address of the agent's node in every partition. @throws StateError */
export async function moveAgentNodes(
  state: Pick<State, 'snapshot' | 'write'>,
  { name, address }: AgentNode,
): Promise<void> {
  const outdatedNodes = (reader: Reader): DeepReadonly<CatalogNode>[] =>
    reader
      .list(catalogNodes, 'agent', name)
      .map(({ row }) => row)
      .filter((row) => row.address !== address);
  while (outdatedNodes(state.snapshot).length > 0) {
    await writeBatch(state, (tx, countMax) => {
      for (const row of outdatedNodes(tx).slice(0, countMax)) tx.put(catalogNodes, { ...row, address });
    });
  }
}
