import type { Pack } from '../../../../../shared/archive/pack.ts';
import { useCall } from '../../../api/useCall.ts';
import { authorsLine } from '../../../format/authors.ts';
import { type PickerOption, type PickerProps, SearchSelect, usePickerSearch } from './SearchSelect.tsx';

/** Selects a pack of this archive by searching. */
export function PackPicker(props: PickerProps) {
  const { search, setTyped } = usePickerSearch();
  const found = useCall('listPacks', { query: { q: search, limit: 20 } }, { keepPrevious: true });
  const chosen = useCall(
    'readPack',
    { params: { id: props.value ?? '' } },
    { enabled: props.value !== null },
  );
  return (
    <SearchSelect
      {...props}
      options={(found.data?.items ?? []).map(optionOf)}
      chosen={chosen.data && optionOf(chosen.data)}
      onType={setTyped}
      nothingFound="No pack matches."
    />
  );
}

function optionOf(pack: Pack): PickerOption {
  return {
    value: pack.id,
    label: pack.title,
    note: `${authorsLine(pack.authors)} · ${pack.outcome} · ${pack.evidence.received_at.slice(0, 10)}`,
  };
}
