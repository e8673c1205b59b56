import { useCall } from '../../../api/useCall.ts';
import { type PickerProps, SearchSelect, usePickerSearch } from './SearchSelect.tsx';

/** Selects a study by its title. */
export function StudyPicker(props: PickerProps) {
  const { search, setTyped } = usePickerSearch();
  const found = useCall('listStudies', { query: { q: search, limit: 20 } }, { keepPrevious: true });
  const chosen = useCall(
    'readStudy',
    { params: { id: props.value ?? '' } },
    { enabled: props.value !== null },
  );
  return (
    <SearchSelect
      {...props}
      options={(found.data?.items ?? []).map(({ id, title, status }) => ({
        value: id,
        label: title,
        note: status,
      }))}
      chosen={chosen.data && { value: chosen.data.id, label: chosen.data.title }}
      onType={setTyped}
      nothingFound="No study matches."
    />
  );
}
