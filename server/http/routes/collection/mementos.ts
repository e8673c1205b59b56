import { Problem } from '../../../../shared/problems.ts';
import {
  findObservedSource,
  mementoAddresses,
  nearestMoment,
  neighboursOf,
  readMemento,
} from '../../../collection/captures/memento/mementos.ts';
import { sentEncoding } from '../../../collection/captures/memento/sentEncoding.ts';
import {
  httpDate,
  linkHeader,
  timeMapJson,
  timeMapLinks,
} from '../../../collection/captures/memento/writeTimeMap.ts';
import { requireIntact } from '../../../fixity/requireIntact.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { prepareBlob } from '../../delivery/blobs/prepareBlob.ts';
import { sendStoredBlob } from '../../delivery/blobs/sendStoredBlob.ts';
import { streamReply } from '../../delivery/streamReply.ts';
import type { Call } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';
import { SEALED, sealed } from './objects.ts';

const LINK_FORMAT = { 'Content-Type': 'application/link-format; charset=utf-8' };
const JSON_FORMAT = { 'Content-Type': 'application/json; charset=utf-8' };

type MementoRoutes = 'readTimeMap' | 'readTimeMapLinks' | 'readTimeMapJson' | 'readTimeGate' | 'readMemento';

/** Handlers for the Memento protocol (RFC 7089). */
export function mementoHandlers(store: Store, publicAddress: PublicAddress): Pick<Handlers, MementoRoutes> {
  const originOf = publicAddress.originOf.bind(publicAddress);
  const linksOf = ({ params, request }: Pick<Call, 'params' | 'request'>) => {
    const observed = findObservedSource(store, params.url ?? '');
    return streamReply(LINK_FORMAT, () => timeMapLinks(store, observed, originOf(request)));
  };
  return {
    readTimeMap: linksOf,
    readTimeMapLinks: linksOf,
    readTimeMapJson: ({ params, request }) => {
      const observed = findObservedSource(store, params.url ?? '');
      return streamReply(JSON_FORMAT, () => timeMapJson(store, observed, originOf(request)));
    },
    readTimeGate: ({ params, request }) => {
      const observed = findObservedSource(store, params.url ?? '');
      const wanted = request.get('Accept-Datetime');
      const moment = nearestMoment(store, observed, wanted === undefined ? undefined : parseHttpDate(wanted));
      const origin = originOf(request);
      return {
        write: (response) =>
          void response
            .status(302)
            .set({
              'Cache-Control': 'no-store',
              Vary: 'accept-datetime',
              Location: mementoAddresses(origin, observed.url).memento(moment),
              Link: linkHeader(observed, origin, neighboursOf(store, observed, moment)),
            })
            .end(),
      };
    },
    readMemento: async ({ params, request }) => {
      const { observed, object, contentEncoding, ...place } = readMemento(
        store,
        params.time ?? '',
        params.url ?? '',
      );
      await requireIntact(store, object);
      const { blob, options } = sealed(object)(request);
      const encoding = await sentEncoding(store, object.sha256, contentEncoding);
      const headers = {
        ...options.headers,
        ...(encoding !== undefined && {
          'Content-Encoding': encoding,
          Vary: `${SEALED.Vary}, Accept-Encoding`,
        }),
        'Memento-Datetime': httpDate(place.moment),
        Link: linkHeader(observed, originOf(request), place),
        // The bytes never change, but the links to neighbours do.
        'Cache-Control': 'no-cache',
      };
      const ready = prepareBlob({ blob, options: { ...options, headers } });
      return { write: (response) => sendStoredBlob(store, request, response, ready) };
    },
  };
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

/** Parses Accept-Datetime, which is an HTTP date (RFC 7089, section 2.1.1.1). */
function parseHttpDate(date: string): number {
  const text = date.trim();
  const instant = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse accepts 30 February and returns a day in March, so the result is compared with the input.
  if (Number.isNaN(instant) || new Date(instant).toUTCString().slice(5) !== text.slice(5)) {
    throw new Problem(
      'invalid_datetime',
      'Accept-Datetime must be a date such as Fri, 20 Nov 2026 10:14:21 GMT. Omit it to get the newest memento.',
    );
  }
  return instant;
}
