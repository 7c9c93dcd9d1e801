/** What this client says of itself in `initialize`. A test holds it to package.json, which a browser bundle must not carry. */
export const version = "0.1.0";
