import type { Answered } from './ask-point.ts'

/** Capped where it came in; it says whose words they are. */
export const vetoText = ({ plugin, message = '' }: NonNullable<Answered['stopped']>): string =>
  `The plugin ${plugin} does not allow it${message === '' ? '.' : `: ${message}`}`
