import * as z from 'zod'
import { emitTool } from '../event-bus.ts'

/**
 * A resource of a plugin or a remote server: listed without running anything, and read by an ordinary tool
 * (`<owner>__read_resource { uri }`, for prompts `<owner>__get_prompt { name, arguments }`), so that no gate is
 * passed by
 * (docs/design.md invariant 4). Both answer a rich output (`content.ts`); a prompt has `structured: { messages }` as
 * well.
 */
export interface ResourceListing {
  /** The id of the plugin or server. */
  readonly owner: string
  /** A URI, or a URI template (RFC 6570) if `isTemplate`. */
  readonly uri: string
  readonly isTemplate: boolean
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

/** A prompt on offer, as a client's list shows it. */
export interface PromptListing {
  readonly owner: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments: readonly {
    readonly name: string
    readonly description?: string
    readonly required?: boolean
    /** Values that a client may suggest while the person types; any other value is as good. */
    readonly suggestions?: readonly string[]
  }[]
}

/** Resources and prompts together, of all owners. */
export interface Offers {
  readonly resources: readonly ResourceListing[]
  readonly prompts: readonly PromptListing[]
}

export const maxUriChars = 2_048
const maxVariables = 8

/**
 * A URI template, level 1 of RFC 6570: text and `{name}`. A variable stands for at least one character and no
 * slash.
 */
export interface UriTemplate {
  readonly names: readonly string[]
  /** The text before, between and after the variables: one more than there are names. */
  readonly texts: readonly string[]
}

/** @returns The template, or what is wrong with it. */
export function parseUriTemplate(template: string): UriTemplate | string {
  if (template.length > maxUriChars) return `has more than ${maxUriChars} characters`
  const parts = template.split(/\{([^{}]*)\}/)
  const texts = parts.filter((_part, index) => index % 2 === 0)
  const names = parts.filter((_part, index) => index % 2 === 1)
  if (texts.some((text) => /[{}]/.test(text))) return 'has a brace without its other half'
  if (names.length === 0) return 'has no {variable}: what has none is a uri'
  if (names.length > maxVariables) return `has more than ${maxVariables} variables`
  const odd = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name))
  if (odd !== undefined) return `{${odd}} is no simple variable such as {id}`
  if (new Set(names).size < names.length) return 'names a variable twice'
  if (names.includes('uri')) return '{uri} is taken: that is the whole URI'
  if (texts.slice(1, -1).includes('')) return 'has two variables with nothing between them'
  return { names, texts }
}

const name = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/,
    'must be at most 64 letters, digits, dots, hyphens and underscores, starting with a letter',
  )
const title = z.string().min(1).max(200).optional()
const description = z.string().min(1).max(2_000).optional()

/** Listed by this alone; read by the function of the same name in the module. */
const resourceManifest = z.lazy(() =>
  z
    .strictObject({
      name,
      /** Either `uri` or `uriTemplate`. */
      uri: z
        .string()
        .max(2_048)
        .regex(/^[a-z][a-z0-9+.-]*:[^\s{}]+$/i, 'must be an absolute URI without blanks and braces')
        .optional(),
      /** Text and `{variables}`: `note://{id}/text`. */
      uriTemplate: z
        .string()
        .regex(/^[a-z][a-z0-9+.-]*:\S+$/i, 'must begin with a scheme, and have no blanks')
        .optional(),
      title,
      description,
      mimeType: z.string().min(1).max(200).optional(),
    })
    .superRefine(({ uri, uriTemplate }, context) => {
      if ((uri === undefined) === (uriTemplate === undefined))
        context.addIssue({ code: 'custom', message: 'has either a uri or a uriTemplate' })
      const problem = uriTemplate === undefined ? undefined : parseUriTemplate(uriTemplate)
      if (typeof problem === 'string')
        context.addIssue({ code: 'custom', path: ['uriTemplate'], message: problem })
    }),
)

/** Listed by this alone; made by the function of the same name in the module. */
const promptManifest = z.lazy(() =>
  z.strictObject({
    name,
    title,
    description,
    arguments: z
      .array(
        z.strictObject({
          name,
          description,
          required: z.boolean().optional(),
          /** Values that a client may suggest while the person types. Any other value is as good. */
          suggestions: z.array(z.string().min(1).max(200)).max(100).optional(),
        }),
      )
      .max(32)
      .default([]),
  }),
)

/** At most 200 resources a plugin. */
export const resourceManifests = z.array(resourceManifest).max(200).default([])
/** At most 200 prompts a plugin. */
export const promptManifests = z.array(promptManifest).max(200).default([])

/** A resource that a plugin declares: one address, or a template of addresses. */
export type ResourceManifest = z.infer<typeof resourceManifest>
/** A prompt that a plugin declares, with its arguments. */
export type PromptManifest = z.infer<typeof promptManifest>

/** The parts of a manifest whose names may clash. */
interface OffersManifest {
  readonly tools: readonly { readonly name: string }[]
  readonly resources: readonly ResourceManifest[]
  readonly prompts: readonly PromptManifest[]
  readonly events: readonly unknown[]
}

/** The ordinary tools by which the two are reached. */
export const readResourceTool = 'read_resource'
/** The tool of a plugin through which its prompts are made: `<plugin>__get_prompt`. */
export const getPromptTool = 'get_prompt'

/** Offers that are declared twice or that clash with a built-in tool: the path, and the fault there. */
export function offerProblems({ tools, resources, prompts, events }: OffersManifest): readonly {
  readonly path: readonly (string | number)[]
  readonly message: string
}[] {
  const taken = [
    ...(resources.length > 0 ? [readResourceTool] : []),
    ...(prompts.length > 0 ? [getPromptTool] : []),
    ...(events.length > 0 ? [emitTool] : []),
  ]
  return [
    ...twice(
      'resources',
      'name',
      resources.map((resource) => resource.name),
    ),
    ...twice(
      'resources',
      'uri',
      resources.map(({ uri, uriTemplate }) => uri ?? uriTemplate ?? ''),
    ),
    ...twice(
      'prompts',
      'name',
      prompts.map((prompt) => prompt.name),
    ),
    ...prompts.flatMap((prompt, index) =>
      twice(
        index,
        'name',
        prompt.arguments.map((argument) => argument.name),
      ).map(({ path, message }) => ({
        path: ['prompts', index, 'arguments', ...path.slice(1)],
        message,
      })),
    ),
    ...tools.flatMap((tool, index) =>
      taken.includes(tool.name)
        ? [
            {
              path: ['tools', index, 'name'],
              message: `may not be "${tool.name}" beside resources, prompts or events: that tool is theirs`,
            },
          ]
        : [],
    ),
  ]
}

const twice = (list: string | number, key: string, values: readonly string[]) =>
  values.flatMap((value, index) =>
    values.indexOf(value) === index
      ? []
      : [{ path: [list, index, key], message: `is declared twice: ${value}` }],
  )
