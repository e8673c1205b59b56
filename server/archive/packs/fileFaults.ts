import { type FieldError, Problem, type ProblemCode } from '../../../shared/problems.ts';

/** As many faults are told as help the sender. */
const MAX_TOLD = 100;

/** What is wrong with the files: the first code names the problem, all of them are told. */
export class FileFaults {
  readonly #errors: FieldError[] = [];
  #first: { code: ProblemCode; path: string } | undefined;

  add(code: ProblemCode, path: string, error: FieldError): void {
    this.#first ??= { code, path };
    if (this.#errors.length < MAX_TOLD) this.#errors.push(error);
  }

  throwIfAny(): void {
    if (!this.#first) return;
    throw new Problem(this.#first.code, this.#errors[0]?.message ?? '', {
      errors: this.#errors,
      members: { path: this.#first.path },
    });
  }
}
