import type { Json, JsonObject } from './json.ts'

/** The built-in parts that a plugin can replace, one plugin each. Models are served by many, and are settings. */
export const providerKinds = ['memory', 'knowledge', 'context'] as const
export type ProviderKind = (typeof providerKinds)[number]

/** A plugin's answer: JSON that is not checked yet. */
export interface ProvidedAnswer {
  /** The plugin that answers. */
  readonly from: string
  /** The plugin ships with the deployment, or an operator vouches for it: its labels are believed. */
  readonly isBelieved: boolean
  readonly answer: Json
}

/**
 * Asks the plugin that provides this; nothing where none does. Whose it is, is part of the question. Throws
 * `request_unavailable` that names the plugin: nothing else is done in its place.
 */
export type AskProvider = (
  kind: ProviderKind,
  asked: { readonly principal: string; readonly request: JsonObject },
) => Promise<ProvidedAnswer | undefined>
