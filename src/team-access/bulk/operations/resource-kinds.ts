/**
 * What operations are about: for each kind of resource how it is read, changed and shown. Nothing is decided here: each
 * change is the one that the endpoint for a single resource makes, with its authorization and its checks.
 */
import type { Reader } from '../../../state/memory/reader.ts';
import type { Caller } from '../../authorization/caller.ts';
import { teamById } from '../../authorization/find-visible.ts';
import { showMembership } from '../../documents/organization-membership-to-json.ts';
import { showTeamAlone } from '../../documents/team-to-json.ts';
import { showTeamWorkspace } from '../../documents/team-workspace-to-json.ts';
import type { Writing } from '../../http/request-pipeline.ts';
import { type Resource, unconditional } from '../../jsonapi/documents.ts';
import type { GivenResource, WantedResource } from '../../jsonapi/read-resource.ts';
import {
  createMembership,
  deleteMembership,
  membershipById,
  NEW_MEMBERSHIP,
} from '../../organization-memberships/change-membership.ts';
import {
  changedTeamWorkspace,
  changeTeamWorkspace,
  deleteTeamWorkspace,
} from '../../team-workspaces/change-team-workspace.ts';
import { createTeamWorkspace, NEW_TEAM_WORKSPACE } from '../../team-workspaces/create-team-workspace.ts';
import { rowById } from '../../team-workspaces/find-row.ts';
import { changeTeam, createTeam, deleteTeam } from '../../teams/change-team.ts';

/** The JSON:API types that operations change. */
export const RESOURCE_TYPES = ['team-workspaces', 'teams', 'organization-memberships'] as const;
/** One of them. */
export type ResourceType = (typeof RESOURCE_TYPES)[number];

/** What a change needs to know besides what the document says of its resource. */
export interface Context {
  /** The name of the organization in which a resource is added, for those that are `inOrganization`. */
  readonly organization: string;
  readonly terraform: boolean;
}

/** How resources of one type are read, changed and shown. Each change throws what its endpoint does: JsonApiError. */
export interface ResourceKind {
  /** Added to an organization, which the operation names. */
  readonly inOrganization: boolean;
  readonly added: WantedResource;
  /** Of those that can be updated, what updates the one with that id. */
  readonly updated?: (id: string) => WantedResource;
  readonly add: (writing: Writing, given: GivenResource, context: Context) => Resource;
  readonly update?: (writing: Writing, id: string, given: GivenResource, context: Context) => Resource;
  readonly remove: (writing: Writing, id: string, context: Context) => void;
  /** One that is there, as far as the caller may know. @throws JsonApiError `not-found` */
  readonly show: (reader: Reader, caller: Caller, id: string, context: Context) => Resource;
}

/** Conditions are headers, of requests about one resource. */
const precondition = unconditional;

/** Every type that operations change. */
export const RESOURCE_KINDS: Readonly<Record<ResourceType, ResourceKind>> = {
  'team-workspaces': {
    inOrganization: false,
    added: NEW_TEAM_WORKSPACE,
    updated: changedTeamWorkspace,
    add: (writing, given, { terraform }) =>
      showTeamWorkspace(createTeamWorkspace(writing, given, terraform), terraform),
    update: (writing, id, given, { terraform }) =>
      showTeamWorkspace(changeTeamWorkspace(writing, { id, precondition, terraform }, given), terraform),
    remove: (writing, id, { terraform }) => deleteTeamWorkspace(writing, { id, precondition, terraform }),
    show: (reader, caller, id, { terraform }) => showTeamWorkspace(rowById(reader, caller, id), terraform),
  },
  // Without their members: a team of thousands would stand in each of thousands of results.
  teams: {
    inOrganization: true,
    added: { type: 'teams' },
    updated: (id) => ({ type: 'teams', updates: id }),
    add: (writing, { attributes }, { organization }) => showTeamAlone(createTeam(writing, organization, attributes)),
    update: (writing, id, { attributes }) => showTeamAlone(changeTeam(writing, { id, precondition }, attributes)),
    remove: (writing, id) => deleteTeam(writing, { id, precondition }),
    show: (reader, caller, id) => showTeamAlone(teamById(reader, caller, id)),
  },
  'organization-memberships': {
    inOrganization: true,
    added: NEW_MEMBERSHIP,
    add(writing, given, { organization }) {
      const { standing, membership } = createMembership(writing, organization, given);
      return showMembership(writing.tx, standing, membership);
    },
    remove: (writing, id) => deleteMembership(writing, id),
    show(reader, caller, id) {
      const { standing, membership } = membershipById(reader, caller, id);
      return showMembership(reader, standing, membership);
    },
  },
};
