/** What was opened so far. It is closed in reverse order, also if a later step of the opening fails. */
export class OpenedResources {
  readonly #closers: (() => void)[] = [];

  /** Adds something that was opened and returns it. */
  add<Resource>(resource: Resource, close: (resource: Resource) => void): Resource {
    this.#closers.push(() => close(resource));
    return resource;
  }

  closeAll(): void {
    for (const close of this.#closers.splice(0).reverse()) close();
  }
}
