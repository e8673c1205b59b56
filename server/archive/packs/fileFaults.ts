import { type FieldError, Problem, type ProblemCode } from '../../../shared/problems.ts';

const MAX_REPORTED = 100;

/** Collects faults of a pack's files. The first fault determines the code of the problem; all of them are reported. */
export class FileFaults {
  readonly #errors: FieldError[] = [];
  #first: { code: ProblemCode; path: string } | undefined;

  add(code: ProblemCode, path: string, error: FieldError): void {
    this.#first ??= { code, path };
    if (this.#errors.length < MAX_REPORTED) this.#errors.push(error);
  }

  throwIfAny(): void {
    if (!this.#first) return;
    throw new Problem(this.#first.code, this.#errors[0]?.message ?? '', {
      errors: this.#errors,
      members: { path: this.#first.path },
    });
  }
}
