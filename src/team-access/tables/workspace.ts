/** Workspaces of an organization: what teams have access to. */
import { defineTable } from '../../state/table.ts';
import { nameWithin, organizations } from './organization.ts';

export interface Workspace {
  /** `ws-` and 16 letters or digits. */
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string;
  /** Unique within the organization, without regard to case. */
  readonly name: string;
  /** Settings that clients send and get back; see `workspaceSettings`. Only those that were sent. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** RFC 3339. */
  readonly createTime: string;
  readonly updateTime: string;
  /** Its place among what the same commit made: lists are in order of creation. */
  readonly place: number;
}

export const workspaces = defineTable<Workspace>()({
  name: 'workspaces',
  key: (workspace) => workspace.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (workspace) => workspace.organizationId },
    name: { entry: (workspace) => nameWithin(workspace.organizationId, workspace.name), unique: true },
  },
  owners: [{ table: organizations, index: 'organization' }],
});
