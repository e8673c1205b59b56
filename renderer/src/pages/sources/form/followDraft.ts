import type { Follow, FollowKind } from '../../../../../shared/collection/follow.ts';

/** What of a source becomes sources, as typed. */
export interface FollowDraft {
  /** Empty: nothing. */
  follow_kind: FollowKind | '';
  follow_match: string;
  follow_types: string[];
  follow_limit: string;
  follow_approve: boolean;
}

export const EMPTY_FOLLOW: FollowDraft = {
  follow_kind: '',
  follow_match: '',
  follow_types: [],
  follow_limit: '50',
  follow_approve: true,
};

export function followDraftOf(follow: Follow | null): FollowDraft {
  if (!follow) return EMPTY_FOLLOW;
  const { kind, match = '', types = [], limit, approve } = follow;
  return {
    follow_kind: kind,
    follow_match: match,
    follow_types: types,
    follow_limit: String(limit),
    follow_approve: approve,
  };
}

/** What is sent; not yet checked. */
export function followOf(draft: FollowDraft): Follow | null {
  const { follow_kind, follow_match, follow_types, follow_limit, follow_approve } = draft;
  if (follow_kind === '') return null;
  return {
    kind: follow_kind,
    ...(follow_match.trim() !== '' && { match: follow_match.trim() }),
    ...(follow_types.length > 0 && { types: follow_types }),
    limit: Number(follow_limit),
    approve: follow_approve,
  };
}
