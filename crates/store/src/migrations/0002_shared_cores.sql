-- Samples of cores that are shared with another hardware thread.
DROP VIEW labels;

-- The bits of samples.labels.
CREATE VIEW labels (bit, letter, meaning) AS
VALUES (1, 'P', 'preempted'),
       (2, 'V', 'blocked'),
       (4, 'M', 'moved to another CPU'),
       (8, 'F', 'unexpected page faults'),
       (16, 'S', 'time stolen by the host or interrupts'),
       (32, 'T', 'clocks disagree'),
       (64, 'C', 'core frequency changed'),
       (128, 'H', 'throttled or stolen from during the round'),
       (256, 'O', 'worker group not complete for the whole sample'),
       (512, 'N', 'the sibling thread of the core was busy');
