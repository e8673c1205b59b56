import { SegmentedControl, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconMoon, IconSun, type TablerIcon } from '@tabler/icons-react';

const THEMES: { value: 'light' | 'dark' | 'auto'; label: string; icon: TablerIcon }[] = [
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
  { value: 'auto', label: 'System', icon: IconDeviceDesktop },
];

/** Selects the light, dark or system theme. */
export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      size="xs"
      fullWidth
      aria-label="Theme"
      value={colorScheme}
      onChange={(value) => setColorScheme(value as typeof colorScheme)}
      data={THEMES.map(({ value, label, icon: Icon }) => ({
        value,
        label: (
          <span title={label} style={{ display: 'grid', placeItems: 'center', height: '1.25rem' }}>
            <Icon size={16} aria-hidden />
            <span className="visually-hidden">{label}</span>
          </span>
        ),
      }))}
    />
  );
}
