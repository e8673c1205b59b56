import { timeMapSchema } from '../../collection/memento.ts';
import { route } from '../route.ts';

const ABOUT_ADDRESSES =
  'Append the watched URL unencoded, including its query; it is normalized like the URL of a source. Every observation is a memento. Its datetime is the time of the observation, or of the capture if a third party made it.';

/** The observations of a source, in the Memento protocol (RFC 7089). */
export const mementoRoutes = {
  readTimeMapJson: route({
    method: 'GET',
    path: '/timemap/json/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'List the mementos of a URL, as JSON',
    description: ABOUT_ADDRESSES,
    responses: { 200: { description: 'The TimeMap', schema: timeMapSchema } },
    problems: ['not_found'],
  }),
  readTimeMapLinks: route({
    method: 'GET',
    path: '/timemap/link/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'List the mementos of a URL in link format (RFC 7089, section 5)',
    description: ABOUT_ADDRESSES,
    responses: { 200: { description: 'The TimeMap', mediaTypes: ['application/link-format'] } },
    problems: ['not_found'],
  }),
  readTimeMap: route({
    method: 'GET',
    path: '/timemap/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'The same as /timemap/link/{url}',
    description: ABOUT_ADDRESSES,
    responses: { 200: { description: 'The TimeMap', mediaTypes: ['application/link-format'] } },
    problems: ['not_found'],
  }),
  readTimeGate: route({
    method: 'GET',
    path: '/timegate/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'Redirect to the memento of a URL that is nearest to a time (RFC 7089, section 4)',
    description: ABOUT_ADDRESSES,
    headers: { 'Accept-Datetime': 'The requested time, as an HTTP date. The default is the newest memento.' },
    responses: { 302: { description: 'Redirect to the memento' } },
    problems: ['not_found', 'invalid_datetime'],
  }),
  readMemento: route({
    method: 'GET',
    path: '/memento/{time}/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'Read a memento: the bytes of a URL at a time, exactly as they were retrieved',
    description: `The time is \`YYYYMMDDhhmmssmmm\` in UTC. Without the milliseconds it selects the first memento of that second. ${ABOUT_ADDRESSES}`,
    responses: {
      200: { description: 'The bytes, with the recorded content type', mediaTypes: ['*/*'] },
      206: { description: 'The requested range or ranges', mediaTypes: ['*/*'] },
      304: { description: 'Not modified' },
    },
    problems: ['not_found', 'range_not_satisfiable', 'copy_unreachable'],
  }),
};
