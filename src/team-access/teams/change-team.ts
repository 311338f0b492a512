/** Makes, changes and deletes teams. Who may: `authorization.ts`; nobody gives what they do not hold. */
import { isDeepStrictEqual } from 'node:util';
import { newId } from '../../credentials/secret.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import { type FoundTeam, organizationWithTeams, teamById } from '../authorization/find-visible.ts';
import { changesTeam, givesOrganizationAccess, makesTeams } from '../authorization/permissions.ts';
import { teamDocument } from '../documents/team-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import type { Precondition } from '../jsonapi/documents.ts';
import { attributeFault, JsonApiError, notFound } from '../jsonapi/errors.ts';
import { type Given, nameTaken } from '../jsonapi/read-attributes.ts';
import { nameEntry, nameWithin } from '../tables/organization.ts';
import { OWNERS, type Team, teams } from '../tables/team.ts';
import { changedOrganizationAccess, readTeamBody } from './read-team-body.ts';

/** A team that is changed, and in which state. */
export interface NamedTeam {
  readonly id: string;
  readonly precondition: Precondition;
}

/** `POST /organizations/:name/teams`. @throws JsonApiError `not-found`, `invalid-attribute` */
export function createTeam({ tx, caller, origin }: Writing, organization: string, attributes: Given): FoundTeam {
  const standing = organizationWithTeams(tx, caller, organization);
  if (!makesTeams(standing)) throw notFound();
  const { organizationAccess: wanted, name = '', ...given } = readTeamBody(attributes, true);
  const organizationAccess = changedOrganizationAccess([], wanted);
  if (organizationAccess.length > 0 && !givesOrganizationAccess(standing, undefined, organizationAccess)) {
    throw notFound();
  }
  const organizationId = standing.organization.id;
  if (isReserved(name)) throw new JsonApiError([nameReserved()]);
  if (tx.find(teams, 'name', nameWithin(organizationId, name)) !== undefined) throw new JsonApiError([nameTaken()]);
  const team: Team = {
    id: tx.once(() => newId('team')),
    organizationId,
    name,
    description: null,
    visibility: 'secret',
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    ...given,
    organizationAccess,
    createTime: new Date(tx.now).toISOString(),
    place: tx.position,
  };
  tx.put(teams, team);
  recordTeamAccess(tx, origin, {
    organizationId,
    action: 'create',
    type: 'teams',
    subject: team.id,
    before: null,
    after: team,
  });
  return { standing, team };
}

/** Owners may call their team what they like: no other takes its name and is given what was meant for it. */
const isReserved = (name: string): boolean => nameEntry(name) === OWNERS;

const nameReserved = () => attributeFault('name', `Name '${OWNERS}' is kept for the team that owns the organization`);

/** `PATCH /teams/:id`. @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function changeTeam(
  { tx, caller, origin }: Writing,
  { id, precondition }: NamedTeam,
  attributes: Given,
): FoundTeam {
  const found = teamById(tx, caller, id);
  const { standing, team: before } = found;
  const mayChange = changesTeam(standing, before);
  if (!mayChange && !givesOrganizationAccess(standing, before, before.organizationAccess)) throw notFound();
  const { organizationAccess: wanted, ...given } = readTeamBody(attributes, false);
  const organizationAccess = changedOrganizationAccess(before.organizationAccess, wanted);
  const team: Team = { ...before, ...given, organizationAccess };
  const changesAccess = !isDeepStrictEqual(organizationAccess, before.organizationAccess);
  if (changesAccess && !givesOrganizationAccess(standing, before, organizationAccess)) throw notFound();
  const renamed = team.name !== before.name && id !== standing.organization.ownersTeamId;
  if (renamed && isReserved(team.name)) throw new JsonApiError([nameReserved()]);
  const holder = tx.find(teams, 'name', nameWithin(team.organizationId, team.name))?.row;
  if (holder !== undefined && holder.id !== id) throw new JsonApiError([nameTaken()]);
  precondition(() => teamDocument(tx, found));
  if (!isDeepStrictEqual(before, team)) {
    tx.put(teams, team);
    const { organizationId } = team;
    recordTeamAccess(tx, origin, { organizationId, action: 'update', type: 'teams', subject: id, before, after: team });
  }
  // Who changed a team of their own, or hid it, may stand elsewhere now: the answer tells what they changed.
  return { standing, team };
}

/** `DELETE /teams/:id`; its rows, members and tokens go with it. @throws JsonApiError `not-found`, `forbidden`, … */
export function deleteTeam({ tx, caller, origin }: Writing, { id, precondition }: NamedTeam): void {
  const found = teamById(tx, caller, id);
  const { standing, team } = found;
  if (!changesTeam(standing, team)) throw notFound();
  if (id === standing.organization.ownersTeamId) {
    throw new JsonApiError([{ code: 'forbidden', detail: 'the team that owns the organization cannot be deleted' }]);
  }
  precondition(() => teamDocument(tx, found));
  tx.delete(teams, id);
  const { organizationId } = team;
  recordTeamAccess(tx, origin, {
    organizationId,
    action: 'destroy',
    type: 'teams',
    subject: id,
    before: team,
    after: null,
  });
}
