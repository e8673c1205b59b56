import { createHash } from 'node:crypto';
import type { ObjectText } from '../../../shared/collection/derived.ts';
import { page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

export function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A node and a scripted web server whose objects it archives. */
export class TextNode {
  readonly node: CollectingNode;
  readonly #web: ScriptedWeb;
  #objects = 0;

  private constructor(node: CollectingNode, web: ScriptedWeb) {
    this.node = node;
    this.#web = web;
  }

  static async open(): Promise<TextNode> {
    return new TextNode(await openCollectingNode(), await ScriptedWeb.open());
  }

  /** Archives a body with these headers and returns its digest. */
  async archive(body: string | Buffer, headers: Record<string, string>): Promise<string> {
    this.#objects += 1;
    const path = `/${this.#objects}`;
    this.#web.script(path, page(body, { headers }));
    const { id } = await this.node.watch(this.#web.url(path));
    await this.node.check([id]);
    return sha256(body);
  }

  ask(digest: string): Promise<Response> {
    return this.node.node.fetch(`/archive/${digest}/text`);
  }

  /** Archives a body and reads its text. */
  async textOf(body: string | Buffer, type: string, encoding?: string): Promise<ObjectText> {
    const headers = { 'Content-Type': type, ...(encoding && { 'Content-Encoding': encoding }) };
    const answer = await this.ask(await this.archive(body, headers));
    if (answer.status !== 200) throw new Error(await answer.text());
    return (await answer.json()) as ObjectText;
  }
}
