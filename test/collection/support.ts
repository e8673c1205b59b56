import { expect } from 'vitest';
import type { CollectionResult, Status } from '../../shared/collection.ts';
import type { Event } from '../../shared/event.ts';
import type { Retrieval, WatchedSource } from '../../shared/source.ts';
import { openTestNode, type TestNode } from '../support/node.ts';

/** A node whose collector neither pauses nor retries, with these settings besides. */
export async function openCollectingNode(
  settings: object = {},
  config: Parameters<typeof openTestNode>[0] = {},
): Promise<CollectingNode> {
  const node = new CollectingNode(await openTestNode(config));
  await node.set({ per_host_pause_ms: 0, retry_delays_seconds: [], ...settings });
  return node;
}

/** What the tests of collection say to a node. */
export class CollectingNode {
  readonly node: TestNode;

  constructor(node: TestNode) {
    this.node = node;
  }

  async set(settings: object): Promise<void> {
    expect((await this.node.sendJson('PATCH', '/manage/settings', settings)).status).toBe(200);
  }

  async watch(url: string, said: object = {}): Promise<WatchedSource> {
    const answer = await this.node.sendJson('POST', '/manage/sources', { url, ...said });
    expect(answer.status).toBe(201);
    return (await answer.json()) as WatchedSource;
  }

  /** Runs a round of all sources, or of those named, to its end. */
  async check(sources?: string[]): Promise<CollectionResult> {
    const answer = await this.node.sendJson('POST', '/manage/collections?wait=true', { sources });
    expect(answer.status).toBe(200);
    return (await answer.json()) as CollectionResult;
  }

  async events(query = ''): Promise<Event[]> {
    return (await this.read<{ items: Event[] }>(`/api/events?limit=500&${query}`)).items;
  }

  /** The types of all events, oldest first. */
  async timeline(query = ''): Promise<string[]> {
    return (await this.events(query)).map(({ event_type }) => event_type).reverse();
  }

  /** Every attempt on a source, oldest first. */
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

  async read<Answer>(path: string): Promise<Answer> {
    return (await (await this.node.fetchAsOwner(path)).json()) as Answer;
  }
}
