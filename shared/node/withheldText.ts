import type { ReleasedReason } from './withheld.ts';

/** The reasons for which bytes are withheld or given up, as a reader understands them. */
export const RELEASED_REASON_TEXT: Readonly<Record<ReleasedReason, string>> = {
  personal_data: 'personal data',
  copyright: 'copyright',
  legal_order: 'a legal order',
  login: 'it was behind a login',
  owner: 'the owner’s decision',
  age: 'the source keeps its versions for a limited time',
};
