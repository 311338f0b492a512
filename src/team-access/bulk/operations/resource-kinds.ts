/**
 * The resource types that operations change [TEAM-62]. Each change calls the function of the endpoint for the single
 * change, which authorizes and checks it [TEAM-67].
 */
import { oneStep, type Steps } from '../../../state/clock/slices.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { Caller } from '../../authorization/caller.ts';
import { teamById } from '../../authorization/find-visible.ts';
import { membershipToJson } from '../../documents/organization-membership-to-json.ts';
import { teamWithoutMembersToJson } from '../../documents/team-to-json.ts';
import { teamWorkspaceToJson } from '../../documents/team-workspace-to-json.ts';
import type { WriteContext } from '../../http/request-pipeline.ts';
import { type Resource, unconditional } from '../../jsonapi/documents.ts';
import type { ParsedResource, ResourceSpec } from '../../jsonapi/read-resource.ts';
import {
  createMembership,
  deleteMembership,
  membershipById,
  NEW_MEMBERSHIP,
} from '../../organization-memberships/change-membership.ts';
import {
  changeTeamWorkspace,
  createTeamWorkspace,
  deleteTeamWorkspace,
  NEW_TEAM_WORKSPACE,
  teamWorkspaceUpdate,
} from '../../team-workspaces/change-team-workspace.ts';
import { rowById } from '../../team-workspaces/find-rows.ts';
import { changeTeam, createTeam, deleteTeam } from '../../teams/change-team.ts';

export const RESOURCE_TYPES = ['team-workspaces', 'teams', 'organization-memberships'] as const;
export type ResourceType = (typeof RESOURCE_TYPES)[number];

export interface OperationOptions {
  /** The name of the organization to add to, for types with `inOrganization`. */
  readonly organization: string;
  readonly terraform: boolean;
}

/** The functions of one resource type. They throw the same errors as the endpoints. */
export interface ResourceKind {
  /** Whether an `add` must name an organization. */
  readonly inOrganization: boolean;
  readonly addShape: ResourceSpec;
  /** Absent for types that cannot be updated. */
  readonly updateShape?: (id: string) => ResourceSpec;
  readonly add: (context: WriteContext, body: ParsedResource, options: OperationOptions) => Steps<Resource>;
  readonly update?: (context: WriteContext, id: string, body: ParsedResource, options: OperationOptions) => Resource;
  readonly remove: (context: WriteContext, id: string, options: OperationOptions) => void;
  /** Returns the current resource if the caller can see it. @throws JsonApiError `not-found` */
  readonly read: (reader: Reader, caller: Caller, id: string, options: OperationOptions) => Resource;
}

/** Operations have no `If-Match` [TEAM-73]. */
const precondition = unconditional;

export const RESOURCE_KINDS: Readonly<Record<ResourceType, ResourceKind>> = {
  'team-workspaces': {
    inOrganization: false,
    addShape: NEW_TEAM_WORKSPACE,
    updateShape: teamWorkspaceUpdate,
    add: (context, body, { terraform }) =>
      oneStep(() => teamWorkspaceToJson(createTeamWorkspace(context, body, terraform), terraform)),
    update: (context, id, body, { terraform }) =>
      teamWorkspaceToJson(changeTeamWorkspace(context, { id, precondition, terraform }, body), terraform),
    remove: (context, id, { terraform }) => deleteTeamWorkspace(context, { id, precondition, terraform }),
    read: (reader, caller, id, { terraform }) => teamWorkspaceToJson(rowById(reader, caller, id), terraform),
  },
  // Results omit members, because thousands of results could each list thousands of members [TEAM-70].
  teams: {
    inOrganization: true,
    addShape: { type: 'teams' },
    updateShape: (id) => ({ type: 'teams', updates: id }),
    add: (context, { attributes }, { organization }) =>
      oneStep(() => teamWithoutMembersToJson(context.tx, createTeam(context, organization, attributes))),
    update: (context, id, { attributes }) =>
      teamWithoutMembersToJson(context.tx, changeTeam(context, { id, precondition }, attributes)),
    remove: (context, id) => deleteTeam(context, { id, precondition }),
    read: (reader, caller, id) => teamWithoutMembersToJson(reader, teamById(reader, caller, id)),
  },
  'organization-memberships': {
    inOrganization: true,
    addShape: NEW_MEMBERSHIP,
    *add(context, body, { organization }) {
      const { role, membership } = yield* createMembership(context, organization, body);
      return membershipToJson(context.tx, role, membership);
    },
    remove: (context, id) => deleteMembership(context, { id }),
    read(reader, caller, id) {
      const { role, membership } = membershipById(reader, caller, id);
      return membershipToJson(reader, role, membership);
    },
  },
};
