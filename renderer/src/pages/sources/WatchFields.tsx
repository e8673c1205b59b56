import { Select, TagsInput, TextInput } from '@mantine/core';
import { selectorOf, type Watch } from '../../../../shared/collection/noise.ts';
import classes from './SourceForm.module.css';
import { WATCH_KINDS, type WatchDraft, type WatchKind } from './sourceForm.ts';

interface WatchFieldsProps {
  draft: WatchDraft;
  errors: Partial<Record<keyof WatchDraft, string>>;
  onChange: (change: Partial<WatchDraft>) => void;
}

/** Which part of a source is watched. */
export function WatchFields({ draft, errors, onChange }: WatchFieldsProps) {
  const { watch_kind, watch_value, watch_columns } = draft;
  const kind = watch_kind === '' ? undefined : KINDS[watch_kind];
  return (
    <fieldset className={`${classes.rules} stack gap-2`}>
      <legend>What is watched</legend>
      <p className="small muted">
        Everything is kept. Only changes of the watched part count in alerts and summaries; others are
        labelled as outside. Which part is watched is public.
      </p>
      <div className="stack columns gap-3 start">
        <Select
          aria-label="What is watched"
          data={[
            { value: '', label: 'Everything' },
            ...WATCH_KINDS.map((value) => ({ value, label: KINDS[value].label })),
          ]}
          allowDeselect={false}
          value={watch_kind}
          onChange={(chosen) => onChange({ watch_kind: (chosen ?? '') as WatchKind | '' })}
        />
        {kind && (
          <TextInput
            aria-label="Watched part"
            placeholder={kind.example}
            spellCheck={false}
            autoComplete="off"
            classNames={{ input: kind.isCode ? classes.ruleValue : undefined }}
            value={watch_value}
            error={errors.watch_value}
            onChange={(event) => onChange({ watch_value: event.currentTarget.value })}
          />
        )}
      </div>
      {watch_kind === 'table' && (
        <TagsInput
          label="Columns"
          description="The names in the first row. Default: all. Press Enter after each name."
          value={watch_columns}
          error={errors.watch_columns}
          onChange={(columns) => onChange({ watch_columns: columns })}
          splitChars={[]}
          acceptValueOnBlur
        />
      )}
    </fieldset>
  );
}

const KINDS: Record<WatchKind, { label: string; example: string; isCode?: boolean }> = {
  css: { label: 'Elements (CSS selector)', example: '#fees td.price', isCode: true },
  heading: { label: 'A heading and its text', example: 'The words of the heading' },
  table: { label: 'A table', example: 'Its caption, or 2 for the second' },
  json_path: { label: 'Values of JSON (JSONPath)', example: '$.rates.eur', isCode: true },
  xpath: { label: 'Elements (XPath)', example: '//table[2]//td[3]', isCode: true },
};

/** The watched part in words: `Heading “Fees”`. */
export function watchWords(watch: Watch): string {
  const { value, columns } = selectorOf(watch);
  const kind = WATCH_KINDS.find((name) => name in watch) ?? 'css';
  const name = { css: '', xpath: '', json_path: '', heading: 'Heading ', table: 'Table ' }[kind];
  return `${name}${name ? `“${value}”` : value}${columns ? `: ${columns.join(', ')}` : ''}`;
}
