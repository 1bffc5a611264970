import type { PluginSecrets } from '#features/plugins/types/plugin.ts'

/**
 * The text that a plugin holds in place of a secret during one call: the nonce keeps other texts, and those of
 * earlier calls, from being valid. Safe in a header, in a path and in base64. A name has no hyphen, so its end is
 * never in doubt.
 */
export const toPlaceholder = (name: string, nonce: string): string =>
  `isola-secret-${name}-${nonce}`

/** With this nonce an isolate makes the placeholders of its call itself: `ref` answers at once. */
export const nonceIn = (ref: PluginSecrets['ref']): string =>
  ref('').slice(toPlaceholder('', '').length)
