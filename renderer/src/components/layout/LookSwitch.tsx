import { SegmentedControl, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconMoon, IconSun, type TablerIcon } from '@tabler/icons-react';

const LOOKS: { value: 'light' | 'dark' | 'auto'; word: string; icon: TablerIcon }[] = [
  { value: 'light', word: 'Light', icon: IconSun },
  { value: 'dark', word: 'Dark', icon: IconMoon },
  { value: 'auto', word: 'System', icon: IconDeviceDesktop },
];

/** Selects the light, dark or system theme. */
export function LookSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      size="xs"
      fullWidth
      aria-label="Theme"
      value={colorScheme}
      onChange={(value) => setColorScheme(value as typeof colorScheme)}
      data={LOOKS.map(({ value, word, icon: Icon }) => ({
        value,
        label: (
          <span title={word} style={{ display: 'grid', placeItems: 'center', height: '1.25rem' }}>
            <Icon size={16} aria-hidden />
            <span className="visually-hidden">{word}</span>
          </span>
        ),
      }))}
    />
  );
}
