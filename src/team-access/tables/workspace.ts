/** Workspaces of an organization. */
import { defineTable } from '../../state/table.ts';
import { nameInOrganization, organizations } from './organization.ts';

export interface Workspace {
  /** `ws-` and 16 letters or digits. */
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string;
  /** Unique within the organization, without regard to case. */
  readonly name: string;
  /** The settings that clients have sent; see `workspaceSettings`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** RFC 3339. */
  readonly createTime: string;
  readonly updateTime: string;
  /** Position within its commit, because lists are in order of creation. */
  readonly place: number;
}

export const workspaces = defineTable<Workspace>()({
  name: 'workspaces',
  key: (workspace) => workspace.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (workspace) => workspace.organizationId },
    name: { entry: (workspace) => nameInOrganization(workspace.organizationId, workspace.name), unique: true },
  },
  owners: [{ table: organizations, index: 'organization' }],
  countsToward: [{ table: organizations, key: (workspace) => workspace.organizationId }],
});
