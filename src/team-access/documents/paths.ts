/** The paths of resources, for links. */

export const organizationPath = (name: string): string => `/api/v2/organizations/${name}`;

export const workspacePath = (organization: string, name: string): string =>
  `${organizationPath(organization)}/workspaces/${name}`;
