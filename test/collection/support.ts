import { expect } from 'vitest';
import type { CollectionResult, Status } from '../../shared/collection/collection.ts';
import type { Event } from '../../shared/collection/event.ts';
import type { Retrieval } from '../../shared/collection/retrieval.ts';
import type { WatchedSource } from '../../shared/collection/source.ts';
import { eventually } from '../support/eventually.ts';
import { openTestNode, type TestNode } from '../support/node.ts';

/** Opens a node whose collector neither pauses between requests nor retries, with further settings. */
export async function openCollectingNode(
  settings: object = {},
  config: Parameters<typeof openTestNode>[0] = {},
): Promise<CollectingNode> {
  const node = new CollectingNode(await openTestNode(config));
  await node.set({ per_host_pause_ms: 0, retry_delays_seconds: [], ...settings });
  return node;
}

/** A node with the calls that the tests of collection need. */
export class CollectingNode {
  readonly node: TestNode;

  constructor(node: TestNode) {
    this.node = node;
  }

  async set(settings: object): Promise<void> {
    expect((await this.node.sendJson('PATCH', '/manage/settings', settings)).status).toBe(200);
  }

  async watch(url: string, fields: object = {}): Promise<WatchedSource> {
    const response = await this.node.sendJson('POST', '/manage/sources', { url, ...fields });
    expect(response.status).toBe(201);
    return (await response.json()) as WatchedSource;
  }

  /** Watches many addresses with one request. */
  async watchList(urls: readonly string[], { ignore_robots = false } = {}): Promise<void> {
    const response = await this.node.fetchAsOwner('/manage/sources/import', {
      method: 'POST',
      headers: { 'Content-Type': 'text/csv' },
      body: ['url,ignore_robots', ...urls.map((url) => `${url},${ignore_robots}`)].join('\n'),
    });
    expect(await response.json()).toMatchObject({ added: urls.length });
  }

  /** Runs a round of all sources, or of the sources with these ids, and waits for its end. */
  async check(sources?: string[]): Promise<CollectionResult> {
    const response = await this.node.sendJson('POST', '/manage/collections?wait=true', { sources });
    expect(response.status).toBe(200);
    return (await response.json()) as CollectionResult;
  }

  async events(query = ''): Promise<Event[]> {
    return (await this.read<{ items: Event[] }>(`/api/events?limit=500&${query}`)).items;
  }

  /** Waits until every change is summarized, and returns the events. */
  async summarizedEvents(query = ''): Promise<Event[]> {
    const withSummaries = `summaries=true&${query}`;
    const isSummarized = ({ event_type, summary }: Event) => event_type !== 'changed' || summary !== null;
    await eventually(async () => expect((await this.events(withSummaries)).every(isSummarized)).toBe(true));
    return this.events(withSummaries);
  }

  /** Returns the types of all events, oldest first. */
  async timeline(query = ''): Promise<string[]> {
    return (await this.events(query)).map(({ event_type }) => event_type).reverse();
  }

  /** Returns every attempt on a source, oldest first. */
  async retrievals(source: string): Promise<Retrieval[]> {
    const page = await this.read<{ items: Retrieval[] }>(`/manage/sources/${source}/retrievals?limit=500`);
    return page.items.reverse();
  }

  source(id: string): Promise<WatchedSource> {
    return this.read<WatchedSource>(`/manage/sources/${id}`);
  }

  status(): Promise<Status> {
    return this.read<Status>('/api/status');
  }

  async read<Body>(path: string): Promise<Body> {
    return (await (await this.node.fetchAsOwner(path)).json()) as Body;
  }
}
