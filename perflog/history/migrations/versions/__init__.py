"""The steps of the schema, in order. A step that was released is never changed."""
