import { timeMapSchema } from '../memento.ts';
import { route } from './route.ts';

const ABOUT_ADDRESSES =
  'What follows is the watched address as it stands, its query with it; it is brought into the one form of a source’s address. Every observation is a memento, at the moment that it shows: a third party’s own time where it captured it.';

/** The observations of a source as Memento (RFC 7089) speaks of them. */
export const mementoRoutes = {
  readTimeMapJson: route({
    method: 'GET',
    path: '/timemap/json/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'Every memento of an address, as JSON',
    description: ABOUT_ADDRESSES,
    answers: { 200: { description: 'The TimeMap', schema: timeMapSchema } },
    problems: ['not_found'],
  }),
  readTimeMap: route({
    method: 'GET',
    path: '/timemap/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'Every memento of an address (RFC 7089, section 5)',
    description: ABOUT_ADDRESSES,
    answers: { 200: { description: 'The TimeMap', mediaTypes: ['application/link-format'] } },
    problems: ['not_found'],
  }),
  readTimeGate: route({
    method: 'GET',
    path: '/timegate/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'Go to the memento of an address that is nearest to a time (RFC 7089, section 4)',
    description: ABOUT_ADDRESSES,
    headers: { 'Accept-Datetime': 'The time wanted, as an HTTP date; without it, the newest memento.' },
    answers: { 302: { description: 'The memento is at Location' } },
    problems: ['not_found', 'invalid_datetime'],
  }),
  readMemento: route({
    method: 'GET',
    path: '/memento/{time}/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'The bytes of an address at a time, exactly as they were retrieved',
    description: `The time is \`YYYYMMDDhhmmssmmm\` in UTC; without the milliseconds it is the first memento of that second. ${ABOUT_ADDRESSES}`,
    answers: {
      200: { description: 'The bytes, with the recorded content type', mediaTypes: ['*/*'] },
      206: { description: 'The range or ranges asked for', mediaTypes: ['*/*'] },
      304: { description: 'The copy held is the same' },
    },
    problems: ['not_found', 'range_not_satisfiable'],
  }),
};
