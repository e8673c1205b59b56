import type { SourcePreview } from '../../../shared/collection/source.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { shuttingDown } from '../../runtime/shuttingDown.ts';
import type { Store } from '../../store/store.ts';
import type { FetchServices } from '../fetch/attempt.ts';
import { HostBackoffError } from '../schedule/hostRateLimiter.ts';
import { previewSource } from './preview.ts';

export interface PreviewServices extends FetchServices {
  store: Store;
  settings: () => Settings;
}

/** The previews that the owner asks for, until the collector closes. */
export class Previews {
  readonly #services: PreviewServices;
  readonly #closing: AbortSignal;
  readonly #running = new Set<Promise<unknown>>();

  /** @param closing aborts the previews that run. */
  constructor(services: PreviewServices, closing: AbortSignal) {
    this.#services = services;
    this.#closing = closing;
  }

  /** Fetches once and stores nothing. @throws Problem `preview_failed`, `shutting_down` */
  preview(url: string): Promise<SourcePreview> {
    const { settings, ...services } = this.#services;
    const preview = previewSource(services, settings(), url, this.#closing).catch((error: unknown) => {
      throw this.#explain(error);
    });
    this.#running.add(preview);
    return preview.finally(() => this.#running.delete(preview));
  }

  /** Resolves when no preview is running. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  #explain(error: unknown): unknown {
    if (this.#closing.aborted) return shuttingDown();
    if (!(error instanceof HostBackoffError)) return error;
    return new Problem(
      'preview_failed',
      `This host accepts no requests until ${new Date(error.until).toISOString()}. Try again then.`,
    );
  }
}
