import { Checkbox, NumberInput, Select, TagsInput, TextInput } from '@mantine/core';
import type { FollowKind } from '../../../../../shared/collection/follow.ts';
import type { FollowDraft } from './followDraft.ts';
import classes from './SourceFields.module.css';

const KINDS: readonly { value: FollowKind | ''; label: string }[] = [
  { value: '', label: 'Nothing' },
  { value: 'links', label: 'The links of the page' },
  { value: 'feed', label: 'The items of a feed (RSS, Atom, JSON Feed)' },
  { value: 'sitemap', label: 'The addresses of a sitemap' },
];

export interface FollowFieldsProps {
  draft: FollowDraft;
  errors: Partial<Record<keyof FollowDraft, string>>;
  onChange: (change: Partial<FollowDraft>) => void;
}

/** Which addresses of the newest version become sources of their own. */
export function FollowFields({ draft, errors, onChange }: FollowFieldsProps) {
  return (
    <div className={classes.fields}>
      <Select
        label="Watch as sources of their own"
        data={KINDS}
        allowDeselect={false}
        value={draft.follow_kind}
        error={errors.follow_kind}
        onChange={(kind) => onChange({ follow_kind: (kind ?? '') as FollowKind | '' })}
      />
      {draft.follow_kind !== '' && (
        <>
          <div className={classes.pair}>
            <TagsInput
              label="Types"
              description="Extensions or media types. Empty: all."
              placeholder={draft.follow_types.length === 0 ? 'pdf' : ''}
              data={['pdf', 'csv', 'xlsx', 'docx', 'html', 'json', 'xml']}
              value={draft.follow_types}
              error={errors.follow_types}
              onChange={(types) => onChange({ follow_types: types })}
              acceptValueOnBlur
            />
            <NumberInput
              label="At most"
              description="Addresses that wait or are watched."
              min={1}
              value={draft.follow_limit}
              error={errors.follow_limit}
              onChange={(value) => onChange({ follow_limit: String(value) })}
            />
          </div>
          <TextInput
            label="Address matches"
            description="A regular expression (RE2). Empty: all addresses of the same host."
            placeholder="/reports/20\d\d/"
            classNames={{ input: classes.typed }}
            value={draft.follow_match}
            error={errors.follow_match}
            onChange={(event) => onChange({ follow_match: event.currentTarget.value })}
            autoComplete="off"
            spellCheck={false}
          />
          <Checkbox
            label="Ask me before a found address is watched"
            description="Otherwise it is watched at once, and checked in the next round."
            checked={draft.follow_approve}
            onChange={(event) => onChange({ follow_approve: event.currentTarget.checked })}
          />
        </>
      )}
    </div>
  );
}
