import { expect } from 'vitest';
import type { ObjectView, PageResources } from '../../../shared/collection/view.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { sha256 } from '../derived/support.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE_MS = 60_000;

/** A node, and a web server whose pages it archives, each a minute after the last one. */
export class ViewNode {
  readonly collecting: CollectingNode;
  readonly web: ScriptedWeb;
  readonly #sources = new Map<string, string>();
  readonly #clock: { aheadMs: number };

  private constructor(collecting: CollectingNode, web: ScriptedWeb, clock: { aheadMs: number }) {
    this.collecting = collecting;
    this.web = web;
    this.#clock = clock;
  }

  static async open(): Promise<ViewNode> {
    const clock = { ...systemClock, aheadMs: 0, now: () => systemClock.now() + clock.aheadMs };
    return new ViewNode(await openCollectingNode({}, { clock }), await ScriptedWeb.open(), clock);
  }

  url(path: string): string {
    return this.web.url(path);
  }

  /** Archives a response at a path, with these headers; returns the digest of its bytes. */
  async archive(path: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<string> {
    this.#clock.aheadMs += MINUTE_MS;
    this.web.script(path, page(body, { headers }));
    let id = this.#sources.get(path);
    if (id === undefined) {
      ({ id } = await this.collecting.watch(this.url(path)));
      this.#sources.set(path, id);
    }
    await this.collecting.check([id]);
    return sha256(body);
  }

  view(digest: string, query = ''): Promise<ObjectView> {
    return this.#json<ObjectView>(`/archive/${digest}/view${query}`);
  }

  resources(digest: string, query = ''): Promise<PageResources> {
    return this.#json<PageResources>(`/archive/${digest}/page/resources${query}`);
  }

  get(path: string, init?: RequestInit): Promise<Response> {
    return this.collecting.node.fetch(path, init);
  }

  /** Returns the HTML of an archived page as it is shown. */
  async page(digest: string, query = ''): Promise<string> {
    const answer = await this.get(`/archive/${digest}/page${query}`);
    expect(answer.status, await answer.clone().text()).toBe(200);
    return answer.text();
  }

  async #json<Body>(path: string): Promise<Body> {
    const answer = await this.get(path);
    expect(answer.status, await answer.clone().text()).toBe(200);
    return (await answer.json()) as Body;
  }
}
