-- Who asked a question, to count how many of theirs wait. Absent of what an earlier version asked, which counts no more.
ALTER TABLE confirmations ADD COLUMN asker BLOB;
CREATE INDEX confirmations_asker ON confirmations (tenant, asker, asked_at_ms) WHERE status = 'pending';
