import { Button, Select, TagsInput, TextInput } from '@mantine/core';
import { IconClick, IconMarquee2 } from '@tabler/icons-react';
import { type Watch, watchedRegion } from '../../../../shared/collection/noise.ts';
import type { WatchedSource } from '../../../../shared/collection/source.ts';
import { ElementChooser } from './choosing/ElementChooser.tsx';
import { RegionChooser, RegionFields } from './choosing/RegionChooser.tsx';
import {
  type DraftProps,
  inputsOf,
  type SourceDraft,
  WATCH_KINDS,
  type WatchDraft,
  type WatchKind,
  watchDraftOf,
  watchOf,
} from './sourceForm.ts';
import classes from './sources.module.css';

/** Where a part is chosen by clicking. */
export type ChoosePlace = 'page' | 'picture';

/** How a part is chosen by clicking into the newest version of a source. */
export interface Choosing {
  source: WatchedSource;
  /** What is chosen now. */
  place: ChoosePlace | undefined;
  onOpen: (place: ChoosePlace | undefined) => void;
  /** Runs after a part was chosen. */
  onChosen: () => void;
}

interface WatchFieldsProps extends DraftProps<SourceDraft> {
  /** Absent if nothing is archived yet. */
  choosing?: Choosing | undefined;
}

/** Which part of a source is watched. */
export function WatchFields({ choosing, ...fields }: WatchFieldsProps) {
  const { draft, errors, onChange } = fields;
  const { watch_kind, watch_region, capture } = draft;
  const input = inputsOf(fields);
  const kind = watch_kind === '' ? undefined : KINDS[watch_kind];
  const kinds = WATCH_KINDS.filter((name) => name !== 'region' || capture === 'page' || name === watch_kind);
  return (
    <fieldset className={`${classes.rules} stack gap-2`}>
      <legend>What is watched</legend>
      <p className="small muted">
        Everything is kept. Only changes of the watched part count in alerts and summaries; others are
        labelled as outside. Which part is watched is public.
        {!choosing && ' After the first check, it can be chosen by clicking into the archived page.'}
      </p>
      {choosing && <ChooseButtons choosing={choosing} draft={draft} onChange={onChange} />}
      <div className="stack columns gap-3 start">
        <Select
          aria-label="What is watched"
          data={[
            { value: '', label: 'Everything' },
            ...kinds.map((value) => ({ value, label: KINDS[value].label })),
          ]}
          allowDeselect={false}
          value={watch_kind}
          onChange={(chosen) => onChange({ watch_kind: (chosen ?? '') as WatchKind | '' })}
        />
        {kind && watch_kind !== 'region' && (
          <TextInput
            aria-label="Watched part"
            placeholder={kind.example}
            spellCheck={false}
            autoComplete="off"
            classNames={{ input: kind.isCode ? classes.typed : undefined }}
            {...input.text('watch_value')}
          />
        )}
      </div>
      {watch_kind === 'region' && (
        <RegionFields
          values={watch_region}
          error={errors.watch_value}
          onChange={(change) => onChange({ watch_region: { ...watch_region, ...change } })}
        />
      )}
      {watch_kind === 'table' && (
        <TagsInput
          label="Columns"
          description="The names in the first row. Default: all. Press Enter after each name."
          {...input.value('watch_columns')}
          splitChars={[]}
        />
      )}
    </fieldset>
  );
}

interface ChooseButtonsProps extends Pick<WatchFieldsProps, 'draft' | 'onChange'> {
  choosing: Choosing;
}

/** Chooses the part by clicking into the archived page or its picture. */
function ChooseButtons({ choosing, draft, onChange }: ChooseButtonsProps) {
  const { source, place, onOpen, onChosen } = choosing;
  const { last_page, last_sha256, capture } = source;
  const choose = (watch: Watch) => {
    onChange(watchDraftOf(watch));
    onOpen(undefined);
    onChosen();
  };
  const close = () => onOpen(undefined);
  // The picture is of a page that was drawn: the form may ask for one only from now on.
  const hasPicture = capture === 'page' && draft.capture === 'page' && last_page !== null;
  return (
    <div className="cluster gap-2">
      {(last_sha256 !== null || last_page !== null) && (
        <Button
          variant="default"
          size="xs"
          leftSection={<IconClick size={15} aria-hidden />}
          onClick={() => onOpen('page')}
        >
          Choose in the page
        </Button>
      )}
      {hasPicture && (
        <Button
          variant="default"
          size="xs"
          leftSection={<IconMarquee2 size={15} aria-hidden />}
          onClick={() => onOpen('picture')}
        >
          Choose in the picture
        </Button>
      )}
      {place === 'page' && <ElementChooser source={source} onChoose={choose} onClose={close} />}
      {place === 'picture' && last_page !== null && (
        <RegionChooser
          page={last_page}
          region={drawnRegion(draft)}
          onChoose={(region) => choose({ region })}
          onClose={close}
        />
      )}
    </div>
  );
}

/** The region in the form, if it is one. */
function drawnRegion(draft: WatchDraft) {
  const region = watchedRegion(watchOf(draft));
  return region && region.width > 0 && region.height > 0 ? region : undefined;
}

const KINDS: Record<WatchKind, { label: string; example: string; isCode?: boolean }> = {
  css: { label: 'Elements (CSS selector)', example: '#fees td.price', isCode: true },
  heading: { label: 'A heading and its text', example: 'The words of the heading' },
  table: { label: 'A table', example: 'Its caption, or 2 for the second' },
  region: { label: 'A region of the picture', example: '' },
  json_path: { label: 'Values of JSON (JSONPath)', example: '$.rates.eur', isCode: true },
  xpath: { label: 'Elements (XPath)', example: '//table[2]//td[3]', isCode: true },
};
