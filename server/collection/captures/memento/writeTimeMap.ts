import type { Store } from '../../../store/store.ts';
import { type Memento, mementoAddresses, momentsOf, type Observed } from './mementos.ts';

/** A TimeMap in link format (RFC 7089, section 5; RFC 6690), in pieces made as they are sent. */
export function* timeMapLinks(
  store: Pick<Store, 'read'>,
  observed: Observed,
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

/** The same as JSON. */
export function* timeMapJson(
  store: Pick<Store, 'read'>,
  observed: Observed,
  origin: string,
): Generator<string> {
  const { url, first, last } = observed;
  const { timegate, timemap, timemapJson, memento } = mementoAddresses(origin, url);
  const told = (moment: string) => ({ datetime: moment, uri: memento(moment) });
  const head = {
    original_uri: url,
    timegate_uri: timegate,
    timemap_uri: { link_format: timemap, json_format: timemapJson },
    mementos: { first: told(first), last: told(last) },
  };
  yield `${JSON.stringify(head).slice(0, -2)},"list":[`;
  let separator = '';
  for (const page of momentsOf(store, observed)) {
    yield separator + page.map((moment) => JSON.stringify(told(moment))).join(',');
    separator = ',';
  }
  yield ']}}';
}

/** The Link header beside a memento, or beside the way to one (RFC 7089, section 2.2). */
export function linkHeader(
  observed: Observed,
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

/** An instant as HTTP writes it, in whole seconds. */
export function httpDate(moment: string): string {
  return new Date(moment).toUTCString();
}

function mementoLink(
  { url, first, last }: Observed,
  origin: string,
  moment: string,
  beside?: 'prev' | 'next',
): string {
  const relations = [moment === first && 'first', moment === last && 'last', beside, 'memento'].filter(
    Boolean,
  );
  const target = mementoAddresses(origin, url).memento(moment);
  return `${link(target, relations.join(' '))}; datetime="${httpDate(moment)}"`;
}

function link(target: string, relation: string): string {
  return `<${target}>; rel="${relation}"`;
}
