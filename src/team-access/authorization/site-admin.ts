/** Site administrators, who have no role in organizations that they are not members of [AUTHZ-6]. */
import { notFound } from '../jsonapi/errors.ts';
import type { Caller } from './caller.ts';

export const isSiteAdmin = (caller: Caller): boolean => caller.kind === 'user' && caller.siteAdmin;

/** @throws JsonApiError `not-found` unless the caller is a site administrator */
export function checkSiteAdmin(caller: Caller): void {
  if (!isSiteAdmin(caller)) throw notFound();
}
