import type { Answered } from './ask-point.ts'

/** Names the plugin, so that the reader knows whose words these are. The message was capped when it arrived. */
export const vetoText = ({ plugin, message = '' }: NonNullable<Answered['stopped']>): string =>
  `The plugin ${plugin} does not allow it${message === '' ? '.' : `: ${message}`}`
