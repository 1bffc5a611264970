import type * as z from 'zod'
import type { ApiRoutes } from '#routes.gen.ts'

/** A method and a path, as it is declared: `GET /api/sessions/:id`. */
export type Route = keyof ApiRoutes

/** Optional where nothing in it is needed. */
type Field<Name extends string, Value> = {} extends Value
  ? { readonly [Key in Name]?: Value }
  : { readonly [Key in Name]: Value }

/** A query is text: a field of type string may be given as a number. */
type InQuery<Fields> = {
  readonly [Key in keyof Fields]: string extends Fields[Key] ? Fields[Key] | number : Fields[Key]
}

type Params<Contract> = Contract extends { params: infer Names extends object }
  ? { readonly params: { readonly [Name in keyof Names]: string | number } }
  : unknown

type Query<Contract> = Contract extends { query: infer Schema extends z.ZodType }
  ? Field<'query', InQuery<z.input<Schema>>>
  : unknown

type Headers<Contract> = Contract extends { headers: readonly (infer Name extends string)[] }
  ? { readonly headers?: { readonly [Key in Name]?: string } }
  : unknown

/** JSON; where another kind may be sent as well, a blob of that media type. */
type Sent<Contract, Schema extends z.ZodType> =
  | z.input<Schema>
  | (Contract extends { otherBody: string } ? Blob : never)

type Body<Contract> = Contract extends { body: infer Schema extends z.ZodType }
  ? Schema extends z.ZodOptional<infer Inner extends z.ZodType>
    ? { readonly body?: Sent<Contract, Inner> }
    : { readonly body: Sent<Contract, Schema> }
  : unknown

type Replies<All> = {
  [Status in keyof All]: All[Status] extends { json: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : never
}[keyof All]

/** How one request is waited for. */
export interface Waiting {
  /** Ends the request; it then rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /** Milliseconds until `no_answer_in_time`; `Infinity` waits for ever. Absent: the client's own setting. */
  readonly timeoutMs?: number
}

/** The parts of a route's request. */
export type Request<Of extends Route> = Params<ApiRoutes[Of]> &
  Query<ApiRoutes[Of]> &
  Headers<ApiRoutes[Of]> &
  Body<ApiRoutes[Of]> &
  Waiting

/** The JSON that a route answers, of any status that is no error. A newer server may say more. */
export type Reply<Of extends Route> = Replies<ApiRoutes[Of]['replies']>

/** The second argument of a request: absent where the route needs nothing. */
export type Given<Of extends Route> =
  {} extends Request<Of> ? [request?: Request<Of>] : [request: Request<Of>]

/** Asks a route: resolves to the reply with its body unread. */
export type Open = <Of extends Route>(route: Of, ...given: Given<Of>) => Promise<Response>
