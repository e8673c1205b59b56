import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { EventType } from '../../shared/collection/event.ts';
import type { NewSource } from '../../shared/collection/source.ts';
import type { ScriptedWeb } from '../e2e/support/scriptedWeb.ts';
import type { OwnerApi } from './ownerApi.ts';

/** A public document of which npm packages contain three versions. */
interface Document {
  path: string;
  source: Pick<NewSource, 'name' | 'agency' | 'tags'>;
  mediaType: string;
  versions: [Buffer, Buffer, Buffer];
}

const modules = resolve(import.meta.dirname, '../../node_modules');

function threeVersions(alias: string, file: string): Document['versions'] {
  const read = (number: number) => readFileSync(join(modules, `${alias}-${number}`, file));
  return [read(1), read(2), read(3)];
}

function documents() {
  const mimeDb = { agency: 'jshttp', tags: ['media types', 'registry'] };
  const spdx = { agency: 'SPDX', tags: ['licences', 'registry'] };
  return {
    mediaTypes: {
      path: '/mime-db/db.json',
      source: { ...mimeDb, name: 'mime-db: the database of media types' },
      mediaType: 'application/json',
      versions: threeVersions('mime-db', 'db.json'),
    },
    history: {
      path: '/mime-db/HISTORY.md',
      source: { ...mimeDb, name: 'mime-db: release notes' },
      mediaType: 'text/markdown; charset=utf-8',
      versions: threeVersions('mime-db', 'HISTORY.md'),
    },
    readme: {
      path: '/mime-db/README.md',
      source: { ...mimeDb, name: 'mime-db: introduction' },
      mediaType: 'text/markdown; charset=utf-8',
      versions: threeVersions('mime-db', 'README.md'),
    },
    licences: {
      path: '/spdx/spdx.json',
      source: { ...spdx, name: 'SPDX licence list: names and addresses' },
      mediaType: 'application/json',
      versions: threeVersions('spdx-license-list', 'spdx.json'),
    },
    identifiers: {
      path: '/spdx/spdx-simple.json',
      source: { ...spdx, name: 'SPDX licence list: identifiers' },
      mediaType: 'application/json',
      versions: threeVersions('spdx-license-list', 'spdx-simple.json'),
    },
  } satisfies Record<string, Document>;
}

/**
 * Watches five documents on a local web server whose pages change: new versions appear, one page fails, one disappears
 * and comes back, one reverts to an older version. All events are recorded by the collector.
 */
export async function collectDemoSources(api: OwnerApi, web: ScriptedWeb): Promise<void> {
  // The web server is local, so no pauses are needed, and a missing page may count as gone at once.
  const usual = await api.call('readSettings');
  await api.call('changeSettings', {
    body: { per_host_pause_ms: 0, retry_delays_seconds: [], gone_after_minutes: 0 },
  });
  const { mediaTypes, history, readme, licences, identifiers } = documents();
  const publish = ({ path, mediaType, versions }: Document, version: 1 | 2 | 3) =>
    web.publish(path, { headers: { 'Content-Type': mediaType }, body: versions[version - 1] });
  const fail = ({ path }: Document, status: number) => web.publish(path, { status, body: 'Not now.' });
  const check = () => api.call('collect', { query: { wait: 'true' } });

  for (const document of [mediaTypes, history, readme, licences, identifiers]) {
    publish(document, 1);
    await api.call('addSource', { body: { ...document.source, url: web.url(document.path) } });
  }
  await check();
  publish(mediaTypes, 2);
  publish(licences, 2);
  publish(history, 2);
  await check();
  fail(readme, 503);
  fail(history, 410);
  await check();
  publish(identifiers, 2);
  await check();
  publish(mediaTypes, 3);
  publish(licences, 1);
  await check();
  publish(readme, 2);
  publish(history, 3);
  publish(licences, 3);
  await check();
  const { per_host_pause_ms, retry_delays_seconds, gone_after_minutes } = usual;
  await api.call('changeSettings', { body: { per_host_pause_ms, retry_delays_seconds, gone_after_minutes } });
}

/** Counts the events of each type. */
export async function countEvents(api: OwnerApi): Promise<Partial<Record<EventType, number>>> {
  const { items } = await api.call('listEvents', { query: { limit: '500' } });
  const counts: Partial<Record<EventType, number>> = {};
  for (const { event_type } of items) counts[event_type] = (counts[event_type] ?? 0) + 1;
  return counts;
}
