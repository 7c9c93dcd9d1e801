/** To whose trace does a call belong, and who is told how long it took? */

/** W3C Trace Context, version 00: a trace of the client's, and its span that the calls of one socket belong to. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

export interface Tracer {
  /**
   * A span begins.
   * @param name the method
   * @returns ends it; @param error name of what the call failed with
   */
  begin(
    name: string,
    parent: TraceParent | undefined,
    attributes: Readonly<Record<string, string | number>>,
  ): (error?: string) => void;
}

/** @param text as `initialize` has checked it */
export function parseTraceparent(text: string): TraceParent {
  const [, traceId = "", spanId = "", flags = ""] = text.split("-");
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/**
 * Spans through OpenTelemetry's API. They go wherever the process was set up to send them (`node --import …`); where it
 * was not, nowhere.
 * @throws Error when `@opentelemetry/api` is not installed
 */
export async function openTelemetry(version: string): Promise<Tracer> {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } = await import("@opentelemetry/api");
  const tracer = trace.getTracer("trailgym", version);
  return {
    begin(name, parent, attributes) {
      const context =
        parent === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
              isRemote: true,
            });
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, context);
      return (error) => {
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
        span.end();
      };
    },
  };
}
