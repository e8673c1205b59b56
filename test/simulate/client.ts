/** What a simulation found to be wrong. */
export class Violation extends Error {}

/** The node was killed while it was asked. */
export class NodeLost extends Error {}

/** A response that was read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  body: Buffer;
}

export interface Sending {
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
  /** Statuses of a failure of the node that this request may have, such as 502 from a copy that is away. */
  mayFail?: readonly number[];
  /** Whether the body may end early, because something in it is damaged. */
  mayEndEarly?: boolean;
}

/** What was done in a run, or in several. */
export interface Figures {
  steps: number;
  requests: number;
  kills: number;
  diskFaults: number;
  assertions: number;
}

const PATIENCE_MS = 120_000;

/** Sends requests to one node, as its owner or as a visitor. A failure of the node that was not expected is a violation. */
export class Client {
  readonly url: string;
  readonly token: string;
  readonly #figures: Figures;
  /** Whether the process may be killed at any moment. */
  mayBeLost = false;
  /** While the disk fails, a node may answer that it does. */
  mayFail: readonly number[] = [];

  constructor(url: string, token: string, figures: Figures) {
    this.url = url;
    this.token = token;
    this.#figures = figures;
  }

  asOwner(method: string, path: string, sending: Sending = {}): Promise<Answer> {
    const headers = { ...sending.headers, Authorization: `Bearer ${this.token}` };
    return this.#send(method, path, { ...sending, headers });
  }

  asVisitor(path: string, sending: Sending = {}, method = 'GET'): Promise<Answer> {
    return this.#send(method, path, sending);
  }

  async #send(
    method: string,
    path: string,
    { json, body, headers = {}, mayFail = [], mayEndEarly = false }: Sending,
  ): Promise<Answer> {
    this.#figures.requests += 1;
    const sent = json === undefined ? body : JSON.stringify(json);
    let answer: Answer;
    try {
      const response = await fetch(new URL(path, this.url), {
        method,
        redirect: 'manual',
        headers: { ...headers, ...(json === undefined ? {} : { 'Content-Type': 'application/json' }) },
        ...(sent === undefined ? {} : { body: sent, duplex: 'half' }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const { status } = response;
      answer = { status, headers: response.headers, body: await bodyOf(response, mayEndEarly) };
    } catch (error) {
      if (this.mayBeLost) throw new NodeLost(`${method} ${path}`, { cause: error });
      throw new Violation(`${method} ${path} was not answered: ${describe(error)}`, { cause: error });
    }
    const allowed = [...mayFail, ...this.mayFail];
    if (answer.status >= 500 && !allowed.includes(answer.status))
      throw new Violation(`${method} ${path} was answered with ${answer.status}: ${textOf(answer)}`);
    return answer;
  }
}

/** @param mayEndEarly returns what came of a body that ends early, as if an object in it is damaged */
async function bodyOf(response: Response, mayEndEarly: boolean): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk);
  } catch (error) {
    if (!mayEndEarly) throw error;
  }
  return Buffer.concat(chunks);
}

function describe(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].flatMap((each) => (each instanceof Error ? [each.message] : [])).join(': ');
}

/** The beginning of a body. */
export function textOf({ body }: Answer): string {
  return body.toString('utf8', 0, 600);
}

export function jsonOf<Body>(answer: Answer): Body {
  return JSON.parse(answer.body.toString()) as Body;
}

/** The code of a problem document. */
export function codeOf(answer: Answer): string | undefined {
  if (!answer.headers.get('Content-Type')?.startsWith('application/problem+json')) return undefined;
  return jsonOf<{ code: string }>(answer).code;
}
