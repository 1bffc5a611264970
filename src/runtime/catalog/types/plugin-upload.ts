import { isJsonObject } from '#contracts/json-object.ts'
import { toCanonicalJson, type Json } from '#contracts/json.ts'
import { defined } from '#contracts/defined.ts'
import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import type { DeploymentEvent } from '#contracts/event.ts'
import type { Administrator } from '#contracts/keys.ts'

/**
 * An installed plugin in one value. Its canonical text is hashed, signed, stored, and checked each time an isolate
 * starts, so that one hash pins manifest, code and files together.
 */
export interface PluginBundle {
  /** `plugin.yaml`, parsed. */
  readonly manifest: unknown
  /** One ES module that imports nothing but `isola/plugin`; absent if the plugin has no code. */
  readonly code?: string
  /** Text files that the manifest refers to, and README.md, by their path in the folder. */
  readonly files: Readonly<Record<string, string>>
}

/** The same bundle has the same text wherever it is made. */
export function toBundleText({ manifest, code, files }: PluginBundle): string {
  return toCanonicalJson({ manifest, ...defined({ code }), files })
}

/** The text that a plugin's signature signs. */
export const toSignedText = (plugin: { readonly id: string; readonly hash: string }): string =>
  `isola plugin 1\n${plugin.id}\n${plugin.hash}\n`

/** The size limits of a bundle, checked before it is read. */
export const bundleCaps = {
  /** The size of an archive as sent. */
  maxArchiveBytes: 4 * 1024 * 1024,
  /** The size of all its files, unpacked. */
  maxUnpackedBytes: 8 * 1024 * 1024,
  maxFiles: 200,
  maxPathChars: 200,
  /** The length of the one module. */
  maxCodeChars: 3 * 1024 * 1024,
  /** The length of `plugin.yaml`. */
  maxManifestChars: 256 * 1024,
  /** The length of all stored text files together. */
  maxFilesChars: 512 * 1024,
} as const

/** A text of a plugin that models read before they call anything of it, and where it stands. */
interface PluginText {
  readonly place: string
  readonly text: string
}

/** A plugin's texts for models. */
export interface PluginTexts {
  readonly texts: readonly PluginText[]
  /** Whether an operator has read exactly these texts. Until then a model reads them as a stranger's. */
  readonly isTold: boolean
}

/** All texts of a plugin's author that models read: descriptions, titles, and every value and name in its schemas. */
export function textsOf(manifest: Manifest): readonly PluginText[] {
  const { description, natural_language_description: routing, contributes, agent } = manifest
  return [
    { place: 'description', text: description },
    ...(routing === undefined ? [] : [{ place: 'natural_language_description', text: routing }]),
    ...contributes.tools.flatMap((tool) => [
      { place: tool.name, text: tool.description },
      ...inSchema(tool.input_schema as Json, `${tool.name} input`),
      ...inSchema((tool.output_schema ?? {}) as Json, `${tool.name} output`),
    ]),
    ...inValue(contributes.resources as unknown as Json, 'resources', offerFields),
    ...inValue(contributes.prompts as unknown as Json, 'prompts', offerFields),
    // These are in the description of the tool that emits the events.
    ...contributes.events.flatMap(({ name, description: about, schema }) => [
      { place: 'events', text: name },
      ...(about === undefined ? [] : [{ place: `events.${name}`, text: about }]),
      ...inSchema(schema as Json, `events.${name} payload`),
    ]),
    ...(agent?.output_schema ? inSchema(agent.output_schema as Json, 'agent output') : []),
  ]
}

/** Whether both have the same texts for models: then an operator who has read one has read the other. */
export const isToldSame = (one: Manifest, other: Manifest): boolean =>
  toCanonicalJson(textsOf(one) as unknown as Json) ===
  toCanonicalJson(textsOf(other) as unknown as Json)

/** Fields of resources and prompts: their names are ours, their values the author's. */
const offerFields: ReadonlySet<string> = new Set(
  'name title description uri uriTemplate mimeType arguments required suggestions'.split(' '),
)

/** Keywords of JSON Schema whose value is a schema, or a list of schemas. */
const schemaWords = new Set(
  'items prefixItems additionalItems contains additionalProperties unevaluatedItems unevaluatedProperties propertyNames not if then else allOf anyOf oneOf contentSchema'.split(
    ' ',
  ),
)

/** Keywords whose value has schemas under names that the author chose. */
const namedSchemas = new Set(
  'properties patternProperties dependentSchemas $defs definitions'.split(' '),
)

/** Keywords that are no text of the author's; their values may be. */
const otherWords = new Set(
  (
    '$schema $id $ref $anchor $dynamicRef $dynamicAnchor $comment $vocabulary type format title description default ' +
    'examples enum const required pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum ' +
    'multipleOf minItems maxItems uniqueItems minContains maxContains minProperties maxProperties dependentRequired ' +
    'readOnly writeOnly deprecated contentEncoding contentMediaType'
  ).split(' '),
)

const types = new Set('string number integer boolean object array null'.split(' '))

const formats = new Set(
  (
    'date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri ' +
    'iri-reference uuid uri-template json-pointer relative-json-pointer regex'
  ).split(' '),
)

const dialect = /^https?:\/\/json-schema\.org\/draft(-0[4-7]|\/2019-09|\/2020-12)\/schema#?$/

/** A value of the specification, which is no text of the author's. Any other value of these keywords is. */
function isOfSpecification(word: string, value: Json): boolean {
  if (word === 'type') return [value].flat().every((one) => types.has(String(one)))
  if (typeof value !== 'string') return false
  return (word === 'format' && formats.has(value)) || (word === '$schema' && dialect.test(value))
}

/** All that an author wrote into a schema. Keywords count as such only where a schema stands, not in a default. */
function inSchema(schema: Json, place: string): readonly PluginText[] {
  if (Array.isArray(schema)) return schema.flatMap((one, at) => inSchema(one, `${place}[${at}]`))
  if (!isJsonObject(schema)) return inValue(schema, place)
  return Object.entries(schema).flatMap(([word, part]) => {
    const at = `${place}.${word}`
    if (schemaWords.has(word)) return inSchema(part, at)
    if (namedSchemas.has(word) && isJsonObject(part))
      return Object.entries(part).flatMap(([name, one]) => [
        { place: at, text: name },
        ...inSchema(one, `${at}.${name}`),
      ])
    if (isOfSpecification(word, part)) return []
    if (word === 'required' && Array.isArray(part))
      return inValue(
        part.filter((name) => !isPropertyOf(schema, name)),
        at,
      )
    return otherWords.has(word) ? inValue(part, at) : [{ place, text: word }, ...inValue(part, at)]
  })
}

/** A property has its name in the list already. */
const isPropertyOf = ({ properties }: { readonly [name: string]: Json }, name: Json): boolean =>
  typeof name === 'string' && isJsonObject(properties) && Object.hasOwn(properties, name)

/** All texts of a value, with the names in it, except `known` names. */
function inValue(
  value: Json,
  place: string,
  known: ReadonlySet<string> = new Set(),
): readonly PluginText[] {
  if (typeof value === 'string') return [{ place, text: value }]
  if (Array.isArray(value))
    return value.flatMap((one, at) => inValue(one, `${place}[${at}]`, known))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, part]) => [
    ...(known.has(name) ? [] : [{ place, text: name }]),
    ...inValue(part, `${place}.${name}`, known),
  ])
}

/** A public key whose signatures make a plugin `trusted`. */
export interface TrustedKey {
  /** `trust_` + 22 characters of the key's sha-256: the same key has the same id everywhere. */
  readonly id: string
  /** The operator's name for it; unique. */
  readonly name: string
  /** Ed25519, its 32 bytes as base64. */
  readonly publicKey: string
  readonly addedBy: string
  readonly addedAtMs: number
}

/**
 * The table of accepted keys. Each change lands with its event, both or neither. Every verb may throw
 * `request_unavailable`.
 */
export interface TrustStore {
  /** All keys, by name. */
  readonly list: () => Promise<readonly TrustedKey[]>
  /** Throws `request_conflict` if the name or the key exists. */
  readonly add: (key: TrustedKey, event: DeploymentEvent) => Promise<void>
  readonly remove: (id: string, event: DeploymentEvent) => Promise<void>
}

/** The operator's changes of accepted keys; every change is an event on the record. */
export interface TrustAdministration {
  readonly list: TrustStore['list']
  /** Throws `request_invalid` for a key that is none, `request_conflict`. */
  readonly add: (
    key: { readonly name: string; readonly publicKey: string },
    by: Administrator,
  ) => Promise<TrustedKey>
  /**
   * Removes a key by name or id. Rows that it signed still name it until the Catalog gets the change `distrust`. Throws
   * `request_not_found`.
   */
  readonly remove: (name: string, by: Administrator) => Promise<TrustedKey>
}

/** The body of `POST /api/operator/plugins`: its JSON, `{ bundle, signature?, source? }` or `{ url }`, or a zip. */
export type Upload = { readonly json: unknown } | { readonly zip: Uint8Array }

/** Over `toSignedText({ id, hash })`. Both base64: an Ed25519 public key as its 32 bytes, 64 bytes of signature. */
export interface PluginSignature {
  readonly key: string
  readonly value: string
}

/** A plugin that may be installed; nothing of it has run. */
export interface ReadUpload {
  readonly bundle: PluginBundle
  /** The canonical text of the bundle, which is hashed and stored. */
  readonly text: string
  readonly manifest: Manifest
  /** sha-256 of `text`, lowercase hex. */
  readonly hash: string
  /** The trust tier, by the signature alone. */
  readonly tier: Exclude<TrustTier, 'builtin'>
  /** The name of the accepted key that signed it. */
  readonly signer?: string
  /** Where it came from: `upload`, `zip`, a URL, or the sender's words. For the operator's eyes. */
  readonly source: string
  /** Notes that the operator should read first. */
  readonly notes: readonly string[]
}

/**
 * Reads an upload that is to be installed. Throws `plugin_upload_invalid`, `plugin_manifest_invalid`,
 * `plugin_contract_mismatch` (its API), `plugin_signature_invalid`, `plugin_source_unavailable`, or `request_invalid`
 * for a URL that is refused.
 */
export type ReadPluginUpload = (upload: Upload) => Promise<ReadUpload>
