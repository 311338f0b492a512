/** Reads what a body says about a user. */
import { Type } from 'typebox';
import { attributeFault, type Fault, throwFaults } from '../jsonapi/errors.ts';
import { type Given, readBoolean, readEmail, readText } from '../jsonapi/read-attributes.ts';
import { bodyOf } from '../jsonapi/schemas.ts';
import { NAME_CHARACTERS_MAX } from '../limits.ts';
import type { NewUser } from './new-user.ts';

export const newUserSchema = bodyOf('users', {
  attributes: {
    username: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
    email: Type.String(),
    'is-site-admin': Type.Boolean(),
  },
  required: ['username', 'email'],
});

/** Read once it is known that the caller may. @throws JsonApiError `invalid-attribute` */
export function readNewUser(given: Given): NewUser {
  const faults: Fault[] = [];
  const username = readText(given, 'username', faults);
  const email = readEmail(given, faults, true);
  const siteAdmin = readBoolean(given, 'is-site-admin', faults);
  if (username === undefined || username === '') {
    if (given['username'] === undefined || given['username'] === null || username === '') {
      faults.unshift(attributeFault('username', "Username can't be blank"));
    }
  } else if (username.length > NAME_CHARACTERS_MAX || !/^[A-Za-z0-9_-]+$/.test(username)) {
    faults.unshift(
      attributeFault(
        'username',
        `Username is invalid: want up to ${NAME_CHARACTERS_MAX} letters, digits, underscores and hyphens`,
      ),
    );
  }
  throwFaults(faults);
  return {
    email: email ?? '',
    ...(username !== undefined && { username }),
    ...(siteAdmin !== undefined && { siteAdmin }),
  };
}
