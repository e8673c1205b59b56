import type { Store } from '../../../store/store.ts';
import { type Memento, mementoAddresses, momentsOf, type ObservedSource } from './mementos.ts';

/** Yields a TimeMap in link format (RFC 7089, section 5; RFC 6690), piece by piece as it is sent. */
export function* timeMapLinks(
  store: Pick<Store, 'read'>,
  observed: ObservedSource,
  origin: string,
): Generator<string> {
  const { url, first, last } = observed;
  const addresses = mementoAddresses(origin, url);
  yield `${link(url, 'original')},\n${link(addresses.timegate, 'timegate')},\n`;
  const span = `from="${httpDate(first)}"; until="${httpDate(last)}"`;
  yield `${link(addresses.timemap, 'self')}; type="application/link-format"; ${span}`;
  for (const page of momentsOf(store, observed)) {
    yield page.map((moment) => `,\n${mementoLink(observed, origin, moment)}`).join('');
  }
  yield '\n';
}

/** Yields the same TimeMap as JSON. */
export function* timeMapJson(
  store: Pick<Store, 'read'>,
  observed: ObservedSource,
  origin: string,
): Generator<string> {
  const { url, first, last } = observed;
  const { timegate, timemap, timemapJson, memento } = mementoAddresses(origin, url);
  const entryOf = (moment: string) => ({ datetime: moment, uri: memento(moment) });
  const head = {
    original_uri: url,
    timegate_uri: timegate,
    timemap_uri: { link_format: timemap, json_format: timemapJson },
    mementos: { first: entryOf(first), last: entryOf(last) },
  };
  yield `${JSON.stringify(head).slice(0, -2)},"list":[`;
  let separator = '';
  for (const page of momentsOf(store, observed)) {
    yield separator + page.map((moment) => JSON.stringify(entryOf(moment))).join(',');
    separator = ',';
  }
  yield ']}}';
}

/** Returns the Link header of a memento or of a redirect to one (RFC 7089, section 2.2). */
export function linkHeader(
  observed: ObservedSource,
  origin: string,
  { moment, previous, next }: Pick<Memento, 'moment' | 'previous' | 'next'>,
): string {
  const { url, first, last } = observed;
  const { timegate, timemap } = mementoAddresses(origin, url);
  const moments = [...new Set([first, previous, moment, next, last])].filter((each) => each !== undefined);
  const relOf = (each: string) => (each === previous ? 'prev' : each === next ? 'next' : undefined);
  return [
    link(url, 'original'),
    link(timegate, 'timegate'),
    `${link(timemap, 'timemap')}; type="application/link-format"`,
    ...moments.map((each) => mementoLink(observed, origin, each, relOf(each))),
  ].join(', ');
}

/** Formats an instant as an HTTP date, in whole seconds. */
export function httpDate(moment: string): string {
  return new Date(moment).toUTCString();
}

function mementoLink(
  { url, first, last }: ObservedSource,
  origin: string,
  moment: string,
  neighbour?: 'prev' | 'next',
): string {
  const relations = [moment === first && 'first', moment === last && 'last', neighbour, 'memento'].filter(
    Boolean,
  );
  const target = mementoAddresses(origin, url).memento(moment);
  return `${link(target, relations.join(' '))}; datetime="${httpDate(moment)}"`;
}

function link(target: string, relation: string): string {
  return `<${target}>; rel="${relation}"`;
}
