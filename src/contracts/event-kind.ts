import * as z from 'zod'

interface Parts<Told extends z.core.$ZodLooseShape, Inside extends z.core.$ZodLooseShape> {
  readonly told?: Told
  readonly inside?: Inside
}

type NoFields = Record<never, never>
type With<Fields, More> = Omit<Fields, keyof More> & More

/**
 * A kind of event: when it is written, its stored fields, and the fields that only readers of the session, or only
 * the record, get.
 */
export const kind = <
  Data extends z.core.$ZodLooseShape,
  Told extends z.core.$ZodLooseShape = NoFields,
  Inside extends z.core.$ZodLooseShape = NoFields,
>(
  when: string,
  data: Data,
  { told, inside }: Parts<Told, Inside> = {},
) => ({
  data: z.object({ ...data, ...inside } as unknown as With<Data, Inside>).describe(when),
  told: z.object({ ...data, ...told } as unknown as With<Data, Told>).describe(when),
})

/** A deployment event: readers and the record get the same fields. */
export const deploymentKind = <Data extends z.core.$ZodLooseShape>(when: string, data: Data) =>
  z.object(data).describe(when)
