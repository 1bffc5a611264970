import type * as z from 'zod'
import type { Role } from '#contracts/keys.ts'
import type { RequestContext } from './request.ts'

/** The methods that routes have; HEAD follows from GET, OPTIONS from all. */
export type Method = 'GET' | 'POST' | 'DELETE'

/** The callers of a route. */
export type Access = 'anyone' | readonly Role[]

/** A method and a path: `GET /api/schedules/:id`. */
export type RouteName = `${Method} /${string}`

/** An answer of a route with one status. */
export interface RouteReply {
  /** In a few words. */
  readonly is: string
  /** Headers that it has, by the names of `replyHeaders`. */
  readonly headers?: readonly (keyof typeof replyHeaders)[]
  /** Server-sent events, where it can be those. */
  readonly events?: string
  /** Text of another kind, by its media type. */
  readonly text?: string
  /** JSON of this shape; none if absent. */
  readonly json?: z.ZodType
}

/** The client's view of a route: the client's types are made of this. Errors have one shape, whatever the route. */
export interface RouteShape {
  /** The description of each variable of the path, by its name. */
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: z.ZodObject | undefined
  readonly headers?: readonly (keyof typeof requestHeaders)[] | undefined
  /** `schema.optional()`: no body is the same as an empty one. */
  readonly body?: z.ZodType | undefined
  /** A body of another kind, by its media type; the handler reads it. */
  readonly otherBody?: string | undefined
  readonly replies: Readonly<Record<number, RouteReply>>
}

/** A route with everything that follows from it: access, checks, the document, the client's types. */
export interface RouteSpec<Shape extends RouteShape = RouteShape> {
  readonly roles: Access
  /** Absent: not in the document. */
  readonly summary?: string
  readonly shape: Shape
  /** Statuses of its errors beyond those that every route has. */
  readonly errors?: readonly number[]
  /** The handler reads query and body itself: the schemas say to others what it takes. */
  readonly readsItself?: true
  /** Agents are brought up to date first. Without it that is done for every route but those of operators. */
  readonly needsAgents?: true
  /** Refuses before a body is read: a malformed id, a token. */
  readonly check?: (request: RequestContext) => void
}

/** The body that a handler gets: of an optional one, `{}` where none was sent. */
type BodyOf<Body> =
  Body extends z.ZodOptional<infer Inner extends z.ZodType>
    ? z.output<Inner>
    : Body extends z.ZodType
      ? z.output<Body>
      : undefined

/** A request of a route: its parts were checked against the declaration. */
export interface RouteRequest<Params, Query, Body> extends RequestContext {
  readonly params: { readonly [Name in keyof Params]: string }
  readonly query: Query extends z.ZodType ? z.output<Query> : undefined
  readonly body: BodyOf<Body>
}

/** JSON with the first status that the route declares, or a whole response. */
type Answer = object

/** One route, as `route` declares it. */
export interface DeclaredRoute<
  Name extends string,
  Shape extends RouteShape,
  Deps,
> extends RouteSpec<Shape> {
  readonly name: Name
  readonly handle: (deps: Deps, request: AnyRequest) => Answer | Promise<Answer>
}

/** The request of any handler: `route` has made the types of each its own. */
export interface AnyRequest extends RequestContext {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
}

/**
 * Declares a route. The file is named `routes.ts` (or ends so), in the room of its subject: `npm run generate` finds it
 * there.
 * `roles` is the first field, by the name of a list in roles.ts.
 *
 * @example
 * route('POST /api/schedules/:id/pause', {
 *   roles: talkers,
 *   summary: 'Pauses it.',
 *   params: { id: 'The schedule’s id.' },
 *   body: pauseRequest.optional(),
 *   replies: { 200: { is: 'The schedule as it then is.', json: schedule } },
 *   handle: ({ schedules }: ScheduleDeps, { params, body, caller }) => …,
 * })
 */
export function route<
  const Name extends RouteName,
  const Replies extends RouteShape['replies'],
  Deps,
  const Params extends Readonly<Record<string, string>> = {},
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  const Headers extends RouteShape['headers'] = undefined,
  const Other extends string | undefined = undefined,
>(
  name: Name,
  declared: Omit<RouteSpec, 'shape'> & {
    readonly params?: Params
    readonly query?: Query
    readonly headers?: Headers
    readonly body?: Body
    readonly otherBody?: Other
    readonly replies: Replies
    readonly handle: (
      deps: Deps,
      request: RouteRequest<Params, Query, Body>,
    ) => Answer | Promise<Answer>
  },
) {
  const { params, query, headers, body, otherBody, replies, handle, ...rest } = declared
  const shape = { params, query, headers, body, otherBody, replies }
  type Shape = {
    readonly params: {} extends Params ? undefined : Params
    readonly query: Query
    readonly headers: Headers
    readonly body: Body
    readonly otherBody: Other
    readonly replies: Replies
  }
  // The two types are of the same value: `answer` gives a handler what its own declaration says.
  return { name, ...rest, shape, handle } as unknown as DeclaredRoute<Name, Shape, Deps>
}

/** The routes of a file, whatever they need and take. */
export type AnyRoute<Deps = never> = DeclaredRoute<string, RouteShape, Deps>

/** A file of routes. */
export interface RouteModule<Deps = never> {
  readonly default: readonly AnyRoute<Deps>[]
}

/** Every path: who may use it, and where its routes are. Read when one of them is asked for first. */
export type RouteTable<Deps = never> = Readonly<
  Record<
    string,
    {
      readonly roles: Readonly<Partial<Record<Method, Access>>>
      readonly load: () => Promise<RouteModule<Deps>>
    }
  >
>

type RouteIn<Module> = Module extends { readonly default: readonly (infer One)[] } ? One : never

/**
 * The shapes of all routes of a union of files, by their names.
 *
 * @public Named by src/routes.gen.ts.
 */
export type ShapesOf<Module> = {
  [
    One in RouteIn<Module> as One extends DeclaredRoute<infer Name, RouteShape, never>
      ? Name
      : never
  ]: One extends DeclaredRoute<string, infer Shape, never> ? Shape : never
}

type TakerOf<One> = One extends { readonly handle: (deps: infer Deps, request: never) => unknown }
  ? (deps: Deps) => void
  : never

/**
 * The dependencies of all routes of a union of files.
 *
 * @public Named by src/routes.gen.ts.
 */
export type DepsOf<Module> =
  TakerOf<RouteIn<Module>> extends (deps: infer Deps) => void ? Deps : never

/** Headers that a request may have. */
export const requestHeaders = {
  'idempotency-key':
    '1 to 255 printable ASCII characters. The same key and body are answered alike; another body is 422.',
  traceparent: 'W3C trace context; its trace id becomes the run’s.',
  'x-isola-session':
    '1 to 200 printable ASCII characters: a name of your choice, or a session id that must exist.',
  'x-isola-persona':
    'What the orchestrator speaks as in this run, instead of the persona of the session or key; `none`: as itself.',
  'last-event-id': 'Where to go on: the last id that was seen. It wins over `cursor`.',
} as const

/** Headers that a reply may have. */
export const replyHeaders = {
  location: 'Where it is.',
  'idempotent-replayed': '`true` where the run was there already under this key.',
  'x-should-retry':
    '`false` with every error once a run has begun: the same request again would be a second run.',
  'x-isola-session': 'The session.',
  'x-isola-run': 'The run.',
  'x-isola-trace': 'The trace.',
} as const
