import {
  keptProfileSchema,
  MAX_PROFILE_BYTES,
  newProfileSchema,
  profileChangeSchema,
  profileSchema,
  profilesQuery,
} from '../../collection/profile.ts';
import { MEBIBYTE } from '../../limits.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, route } from '../route.ts';

/** JSON escapes what a file contains. */
const MAX_BODY_BYTES = MAX_PROFILE_BYTES + MEBIBYTE;

/** The logins with which sources are watched. */
export const profileRoutes = {
  listProfiles: route({
    method: 'GET',
    path: '/manage/profiles',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the profiles with which sources are watched',
    query: profilesQuery,
    responses: { 200: { description: 'A page of profiles, oldest first', schema: pageOf(profileSchema) } },
    problems: [],
  }),
  addProfile: route({
    method: 'POST',
    path: '/manage/profiles',
    access: 'owner',
    tag: 'Manage',
    summary: 'Keep the cookies and the storage of one site',
    description:
      'Give a Netscape cookie file (`netscape`), a storage state of Playwright (`storage_state`) or a list of `cookies`. Only what belongs to `site` is kept; without `site`, all cookies must belong to one. It is encrypted at rest, sent to this site only, and never shown, exported or logged.',
    body: { ...jsonBody(newProfileSchema), maxBytes: MAX_BODY_BYTES },
    responses: { 201: { description: 'The profile, without its secrets', schema: keptProfileSchema } },
    problems: ['invalid_profile', 'profiles_full', 'profile_key_damaged'],
  }),
  readProfile: route({
    method: 'GET',
    path: '/manage/profiles/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read a profile, without its secrets',
    responses: { 200: { description: 'The profile', schema: profileSchema } },
    problems: ['not_found'],
  }),
  changeProfile: route({
    method: 'PATCH',
    path: '/manage/profiles/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Log in again: replace the cookies and the storage of a profile, or its name',
    body: { ...jsonBody(profileChangeSchema), maxBytes: MAX_BODY_BYTES },
    responses: { 200: { description: 'The profile', schema: keptProfileSchema } },
    problems: ['not_found', 'invalid_profile', 'profile_key_damaged'],
  }),
  removeProfile: route({
    method: 'DELETE',
    path: '/manage/profiles/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Delete a profile. Sources that name it are not checked until they get another, or none',
    responses: { 204: { description: 'Deleted' } },
    problems: ['not_found'],
  }),
};
