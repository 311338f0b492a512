/** Projects. Each organization has exactly one, its default project. */
import { defineTable } from '../../state/table.ts';
import { nameInOrganization, organizations } from './organization.ts';

export interface Project {
  /** `prj-` and 16 letters or digits. */
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  /** RFC 3339. */
  readonly createTime: string;
}

export const projects = defineTable<Project>()({
  name: 'projects',
  key: (project) => project.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (project) => project.organizationId },
    name: { entry: (project) => nameInOrganization(project.organizationId, project.name), unique: true },
  },
  owners: [{ table: organizations, index: 'organization' }],
  countsToward: [{ table: organizations, key: (project) => project.organizationId }],
});
