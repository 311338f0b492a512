/** `PATCH` and `DELETE /organizations/:name`. */
import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../../http/call.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import { endTrail } from '../audit/trail.ts';
import { type Standing, standingOf, standingWith } from '../authorization/caller-role.ts';
import { organizationNamed, standingAround } from '../authorization/find-visible.ts';
import { changesOrganization } from '../authorization/permissions.ts';
import { organizationDocument } from '../documents/organization-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { checkIfMatch } from '../jsonapi/documents.ts';
import { JsonApiError, notFound } from '../jsonapi/errors.ts';
import { type Given, nameTaken } from '../jsonapi/read-attributes.ts';
import { nameEntry, type Organization, organizations } from '../tables/organization.ts';
import { readOrganizationBody } from './read-organization-body.ts';

/**
 * Owners change everything but the plan; site administrators the plan, of any organization, and nothing else.
 * @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed`
 */
export function changeOrganization(
  { tx, caller, origin }: Writing,
  call: Call,
  name: string,
  attributes: Given,
): Standing {
  const before = tx.find(organizations, 'name', nameEntry(name))?.row;
  const siteAdmin = caller.kind === 'user' && caller.siteAdmin;
  const standing = siteAdmin && before ? standingOf(tx, caller, before.id) : standingAround(tx, caller, before?.id);
  const owns = standing !== undefined && changesOrganization(standing);
  if (before === undefined || !(owns || siteAdmin)) throw notFound();
  const body = readOrganizationBody(attributes, false);
  const { settings, plan = before.plan, ...rest } = body;
  const planOnly = body.plan !== undefined && Object.keys(rest).length + Object.keys(settings).length === 0;
  if (!owns && !planOnly) throw notFound();
  if (plan !== before.plan && !siteAdmin) throw notFound();
  const after: Organization = { ...before, ...rest, plan, settings: { ...before.settings, ...settings } };
  const holder = tx.find(organizations, 'name', nameEntry(after.name))?.row;
  if (holder !== undefined && holder.id !== before.id) throw new JsonApiError([nameTaken()]);
  checkIfMatch(call, () => organizationDocument(standing ?? standingWith(before, [])));
  if (!isDeepStrictEqual(before, after)) {
    tx.put(organizations, after);
    const change = { action: 'update', type: 'organizations', subject: before.id, before, after };
    recordTeamAccess(tx, origin, { organizationId: before.id, ...change });
  }
  return standingOf(tx, caller, before.id) ?? standingWith(after, []);
}

/** Everything in it goes in the same commit. @throws JsonApiError `not-found`, `precondition-failed` */
export function deleteOrganization({ tx, caller, origin }: Writing, call: Call, name: string): void {
  const standing = organizationNamed(tx, caller, name);
  if (!changesOrganization(standing)) throw notFound();
  checkIfMatch(call, () => organizationDocument(standing));
  const { organization } = standing;
  endTrail(tx, organization.id);
  tx.delete(organizations, organization.id);
  recordTeamAccess(tx, origin, {
    organizationId: organization.id,
    action: 'destroy',
    type: 'organizations',
    subject: organization.id,
    before: organization,
    after: null,
  });
}
